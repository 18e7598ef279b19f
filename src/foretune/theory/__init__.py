"""Why tuning helps: the kernel that an SSM induces, its eigensystem, and the learning curves that follow."""

from .asymptotics import fourier_deviation as fourier_deviation
from .asymptotics import singular_value_deviation as singular_value_deviation
from .asymptotics import singular_values as singular_values
from .eigensystem import Eigensystem as Eigensystem
from .eigensystem import cross_moment as cross_moment
from .eigensystem import eigensystem as eigensystem
from .eigensystem import second_moment as second_moment
from .empirical import EmpiricalEigensystem as EmpiricalEigensystem
from .empirical import agreement as agreement
from .empirical import empirical_eigensystem as empirical_eigensystem
from .kernel import SSMKernel as SSMKernel
from .kernel import features as features
from .kernel import gram as gram
from .kernel import ssm_kernel as ssm_kernel
from .kernel import toeplitz as toeplitz
from .learning import cumulative_power as cumulative_power
from .learning import learning_curve as learning_curve
from .regression import RegressionCurve as RegressionCurve
from .regression import kernel_regression_curve as kernel_regression_curve
