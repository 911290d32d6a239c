"""Takes orders."""


def main() -> str:
    return "orders"
