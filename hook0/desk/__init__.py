"""The desk of operators: the admin's site, its home page, and what else sees across the apps."""
