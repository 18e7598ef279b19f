"""The tables beside MiniRocket say what the committed results say."""

from bench import compare


def test_the_page_shows_the_results():
    page = compare.PAGE.read_text()
    assert compare.put_in(page, compare.read()) == page


def test_every_cell_was_run():
    found = {(s.dataset, s.ratio, s.seed, s.classifier) for s in compare.read()}
    assert found == {
        (name, ratio, seed, side)
        for name in compare.SETS
        for ratio in compare.RATIOS
        for seed in compare.SEEDS
        for side in (compare.OURS, compare.THEIRS)
    }


def test_the_summary_says_where_the_target_is_missed():
    scores = [
        compare.Score(name, ratio, 0, 9, side, 80.0 + better, 1.0 + better, 1.0)
        for name in compare.SETS
        for ratio in compare.RATIOS
        for side, better in ((compare.OURS, -4.0 if (name, ratio) == ("wafer", 0.04) else 1.0), (compare.THEIRS, 0.0))
    ]
    text = compare.summary(scores)
    assert "Wafer at 0.04 | -4.0 |  | not below -3 | **no** |" in text
    assert "| seconds of all fits | 35 | 20 | no longer | **no** |" in text
    assert "80.67 | 80.00 | above | yes |" in text
