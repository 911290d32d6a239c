"""The English words that names of operations consist of."""

from __future__ import annotations

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


READING_ACTIONS: Final = _set(
    "autocomplete calculate check compare convert count download estimate export fetch find geocode get list locate"
    " lookup ping predict preview query read resolve retrieve search show suggest validate verify view whoami"
)
"""Verbs in the path of a GET."""

ACTIONS: Final = READING_ACTIONS | _set(
    "abort accept acknowledge activate add allocate analyze apply approve archive assign associate attach attest"
    " authenticate authorize ban batch begin bind block book build bulk buy cancel capture change charge claim clear"
    " clone close collect commit complete confirm connect consume copy create deactivate decline decrypt delete deploy"
    " destroy detach detect disable disconnect dismiss dispatch dispute drop duplicate edit empty enable encrypt end"
    " enroll exchange execute extend extract finalize finish follow forget forgot generate grant hide hold import"
    " initialize initiate insert install invalidate invite invoke issue join kick leave like link load lock login"
    " logout mark mask merge migrate modify move mute notify onboard open patch pause pay persist pin place post"
    " prepare process promote provision publish purchase purge push put reactivate read reassign rebuild receive"
    " recover redeem refresh refund regenerate register reject release reload remove rename render renew reopen reorder"
    " replace reply report request reschedule resend reset resize restart restore resume retry return revert review"
    " revoke rollback rotate run save scan schedule select send set share sign signin signout signup simulate skip sort"
    " split start stop store stream submit subscribe suspend swap switch sync tag terminate test toggle trace train"
    " transfer transform transition translate transmit trigger unarchive unassign unban unblock unfollow uninstall"
    " unlink unlock unmute unpin unpublish unregister unshare unsubscribe unsuspend update upgrade upload upsert use"
    " verify void vote withdraw write"
)
"""Verbs in a path after which a request is named."""

VERBS: Final = ACTIONS | _set(
    "allow can do ensure describe discover has is make poll provide redirect refetch track watch"
)
"""Verbs in `operationId`."""

ALSO_NOUNS: Final = _set(
    "bill block book build bulk batch capture change charge check claim copy credit dispute edit exchange export hold"
    " import invite issue like link load lock mark move note order patch place post preview process purchase query read"
    " record refund release reply report request reset return review run sample scan schedule search sign sort split"
    " start stream swap switch sync tag test trace transfer transition trigger update upload use view vote watch"
)
"""Verbs that are as often the first part of a noun: `transferInstruments`."""

PLAIN_VERBS: Final = _set("add create delete fetch find get list remove retrieve update")

COMPLETE_VERBS: Final = _set("login logout ping signin signout signup whoami register")
"""Verbs that need no object."""

PREPOSITIONS: Final = _set(
    "about after and as at before between by for from in into of on or per to under using via with"
)
ARTICLES: Final = _set("a an the of")

ABBREVIATIONS: Final = {
    "administrator": "admin",
    "application": "app",
    "applications": "apps",
    "authentication": "auth",
    "configuration": "config",
    "configurations": "configs",
    "documentation": "docs",
    "environment": "env",
    "environments": "envs",
    "information": "info",
    "organization": "org",
    "organizations": "orgs",
    "parameter": "param",
    "parameters": "params",
    "repositories": "repos",
    "repository": "repo",
    "specification": "spec",
}
"""Short forms that everyone uses."""

_NO_PLURALS: Final = _set(
    "access address alias analysis analytics apis atlas aws basis bonus bus business campus canvas chaos chess class"
    " compass cors cross diagnosis dns dress express focus gas glass gps ios iris kubernetes lens loss news os pass pos"
    " press previous process progress redis sales series sms species status success syllabus synopsis tax this tls"
    " virus vps was windows wss yes"
)


def is_plural(word: str) -> bool:
    """Return whether a noun is a plural by its ending."""
    return singular(word) != word or word in ("data", "people", "children", "media")


def singular(word: str) -> str:
    """Return the singular of a noun; another word stays as it is."""
    if len(word) < 4 or word in _NO_PLURALS or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4 and word not in ("movies", "cookies", "zombies", "calories"):
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")) or word in ("statuses", "buses", "aliases", "viruses"):
        return word[:-2]
    return word[:-1]
