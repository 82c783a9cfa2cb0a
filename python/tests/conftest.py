"""Pictures are drawn without a screen."""

import matplotlib

matplotlib.use("Agg")
