from .diagnose import diagnose as diagnose
from .result import Diagnosis as Diagnosis
