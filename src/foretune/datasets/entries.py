"""Every data set that `load` knows: the paper's counts, where its files come from, and its reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .base import Dataset
from .cifar import locate_cifar, read_cifar
from .download import Remote
from .generated import make_binary_frequency, make_frequency_classification, make_listops, make_pathfinder
from .listops import locate_listops, read_listops
from .mnist import locate_mnist, read_mnist, read_permuted, read_sequential
from .pathfinder import locate_pathfinder, read_pathfinder
from .speech import locate_speech, locate_speech_part, read_sc10, read_speech, read_speech_part
from .store import Store
from .ucr import locate_ucr, read_ucr

__all__ = ["ENTRIES", "Entry"]


@dataclass(frozen=True)
class Entry:
    """A data set: its name here and in the paper, its counts, and how it is found, fetched and read."""

    name: str
    title: str
    counts: tuple[int, int, int]  # training, validation, test
    length: int
    classes: int
    read: Callable[[Any], Dataset]
    locate: Callable[[Store], Any]  # what `read` takes, or DataMissing
    sources: tuple[tuple[Remote, ...], ...] = ()  # alternatives: the files of one of them are enough
    aliases: tuple[str, ...] = ()
    megabytes: int = 0  # to fetch, roughly

    @property
    def generated(self) -> bool:
        """Whether the set needs no files."""
        return not self.sources


def _store(store: Store) -> Store:
    return store


def _mnist(name: str, digest: str) -> Remote:
    hosts = (
        "https://ossci-datasets.s3.amazonaws.com/mnist",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
        "http://yann.lecun.com/exdb/mnist",
    )
    return Remote(f"mnist/{name}.gz", tuple(f"{host}/{name}.gz" for host in hosts), f"sha256:{digest}")


MNIST = (
    _mnist("train-images-idx3-ubyte", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    _mnist("train-labels-idx1-ubyte", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    _mnist("t10k-images-idx3-ubyte", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    _mnist("t10k-labels-idx1-ubyte", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)
CIFAR = Remote(
    "cifar10/cifar-10-python.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
    "md5:c58f30108f718f92721af3b95e74349a",
)
CIFAR_BINARY = Remote(
    "cifar10/cifar-10-binary.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
    "md5:c32a1d4ab5d03f1284b67883e8d87530",
)
# No hash is published for the archives of UCR, LRA and the test set of Speech Commands: the readers check their counts
# and structure.
UCR = Remote(
    "ucr/UCRArchive_2018.zip",
    ("https://www.cs.ucr.edu/~eamonn/time_series_data_2018/UCRArchive_2018.zip",),
)
SPEECH = Remote(
    "speech_commands/speech_commands_v0.02.tar.gz",
    (
        "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
        "http://download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
    ),
    "sha256:af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
)
SPEECH_TEST = Remote(
    "speech_commands/speech_commands_test_set_v0.02.tar.gz",
    (
        "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_test_set_v0.02.tar.gz",
        "http://download.tensorflow.org/data/speech_commands_test_set_v0.02.tar.gz",
    ),
)
LRA = Remote("lra/lra_release.gz", ("https://storage.googleapis.com/long-range-arena/lra_release.gz",))


def _ucr(name: str, train: int, test: int, length: int, classes: int) -> Entry:
    hosts = ("https://timeseriesclassification.com", "https://www.timeseriesclassification.com")
    own = Remote(f"ucr/{name}.zip", tuple(f"{host}/aeon-toolkit/{name}.zip" for host in hosts))
    read, locate = partial(read_ucr, name=name), partial(locate_ucr, name=name)
    return Entry(name.lower(), name, (train, 0, test), length, classes, read, locate, ((own,), (UCR,)), (), 10)


def _digits(name: str, title: str, counts: tuple[int, int, int], read: Callable[[Any], Dataset], alias: str) -> Entry:
    return Entry(name, title, counts, 784, 10, read, locate_mnist, (MNIST,), (alias,), 11)


def _listops(name: str, train: int, bounds: tuple[int, int], padded: int) -> Entry:
    make = partial(make_listops, name=name, train=train, bounds=bounds, padded=padded)
    return Entry(name, f"our own {name[10:]}", (train, 2000, 2000), padded, 10, make, _store)


ENTRIES = (
    Entry(
        "binary-frequency",
        "Binary Freq.",
        (40_000, 0, 10_000),
        256,
        2,
        make_binary_frequency,
        _store,
        aliases=("Binary Frequency Classification",),
    ),
    _ucr("ECG5000", 500, 4500, 140, 5),
    _ucr("FordA", 3601, 1320, 500, 2),
    _ucr("FordB", 3636, 810, 500, 2),
    _digits("mnist", "MNIST", (60_000, 0, 10_000), read_mnist, "mnist784"),
    _ucr("TwoPatterns", 1000, 4000, 128, 4),
    _ucr("Wafer", 1000, 6164, 152, 2),
    Entry(
        "freq-cls",
        "Freq. Cls.",
        (10_000, 1000, 1000),
        1024,
        10,
        make_frequency_classification,
        _store,
        aliases=("Freq. Classification", "Frequency Classification"),
    ),
    _digits("smnist", "sMNIST", (54_000, 6000, 10_000), read_sequential, "Sequential MNIST"),
    _digits("pmnist", "pMNIST", (54_000, 6000, 10_000), read_permuted, "Permuted MNIST"),
    Entry(
        "pathfinder",
        "Pathfinder",
        (480_001, 59_999, 59_999),
        1024,
        2,
        read_pathfinder,
        locate_pathfinder,
        ((LRA,),),
        ("PathFinder32",),
        7700,
    ),
    Entry(
        "cifar10",
        "CIFAR-10",
        (45_000, 5000, 10_000),
        1024,
        10,
        read_cifar,
        locate_cifar,
        ((CIFAR,), (CIFAR_BINARY,)),
        ("sCIFAR", "Sequential CIFAR", "cifar"),
        163,
    ),
    Entry(
        "listops",
        "ListOps",
        (96_000, 2000, 2000),
        2048,
        10,
        read_listops,
        locate_listops,
        ((LRA,),),
        ("LRA ListOps",),
        7700,
    ),
    Entry(
        "speech-commands",
        "SC",
        (84_843, 9981, 11_005),
        16_000,
        35,
        read_speech,
        locate_speech,
        ((SPEECH,),),
        ("SC35", "Speech Commands 35"),
        2316,
    ),
    Entry("sc10", "SC10", (24_482, 5246, 5247), 16_000, 10, read_sc10, locate_speech, ((SPEECH,),), (), 2316),
    Entry(
        "sc10-clips",
        "SC10 clips",
        (650, 115, 235),
        16_000,
        10,
        read_speech_part,
        locate_speech_part,
        ((SPEECH_TEST,),),
        (),
        113,
    ),
    _listops("generated-listops", 96_000, (500, 2000), 2048),
    _listops("generated-listops-short", 20_000, (10, 127), 128),
    Entry(
        "generated-pathfinder",
        "our own pathfinder",
        (40_000, 5000, 5000),
        1024,
        2,
        make_pathfinder,
        _store,
    ),
)
