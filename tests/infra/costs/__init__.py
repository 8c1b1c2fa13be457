"""What runs cost: arithmetic against numbers from a pocket calculator, not against the formulas again."""

KIB_IN_GB = 1 / 1_048_576
