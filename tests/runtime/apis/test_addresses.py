"""Names and addresses in spellings that libraries read as others."""

from __future__ import annotations

import stringprep

import pytest
from toolmason_runtime.shared.addresses import is_metadata_host, plain_host, private_reason

_IGNORED = [chr(code) for code in sorted(stringprep.b1_set)]


@pytest.mark.parametrize("character", [*_IGNORED, "\u2061", "\u3164", "\U000e0061"], ids=ascii)
def test_characters_that_idna_ignores_hide_no_name(character: str) -> None:
    assert is_metadata_host(f"meta{character}data.goog")
    assert private_reason(f"printer.loc{character}al") == "is a name of a private network"


@pytest.mark.parametrize(
    "host", ["b\u00fccher.example", "\u4f8b.example", "xn--bcher-kva.example", "api-1.example", "1.2.3.example"]
)
def test_other_names_are_public_and_remain(host: str) -> None:
    assert plain_host(host) == host
    assert not is_metadata_host(host)
    assert not private_reason(host)


@pytest.mark.parametrize(
    "host", ["[::ffff:0:808:808]", "[2002:808:808::]", "[2606:4700::1111]", "08.8.8.8.example", "010.8.8.8"]
)
def test_public_addresses_remain_public(host: str) -> None:
    assert not is_metadata_host(host)
    assert not private_reason(host)
