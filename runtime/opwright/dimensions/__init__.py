"""The dimension rule: which dimension of operands and results is which factor, and what cutting a factor costs."""
