"""The tables of docs/reference.md: each public header by topic, with its first sentence and the names that it declares.

scripts/reference makes them of the headers and of Doxygen's XML.
"""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BEGIN = "<!-- scripts/reference --write makes the rest of this page -->\n"

# A topic, what holds for its headers, and their names in their order. A header of the same name in local/ is in its row.
TOPICS = [
    ("Running fibers", "[Scheduling](explanation/scheduling.md) explains policies and `near`.", "runtime.hpp fiber.hpp scope.hpp stop_guard.hpp future.hpp fiber_local.hpp run_policy.hpp"),
    ("Synchronization", "Headers with a counterpart in `sennit/local/` have the same members there, without atomic operations.",
     "mutex.hpp recursive_mutex.hpp shared_mutex.hpp condition_variable.hpp condition_variable_any.hpp counting_semaphore.hpp "
     "event.hpp wait_group.hpp latch.hpp barrier.hpp once.hpp wait_list.hpp wait_options.hpp no_deadline.hpp"),
    ("Channels and select", "`select` works with both kinds of channels.",
     "channel.hpp channel_result.hpp biased.hpp select.hpp select_io.hpp select_list.hpp"),
    ("Actors", "[Actors](howto/actors.md) shows how to use them.", "actor.hpp actor_exit.hpp supervisor.hpp supervisor_options.hpp"),
    ("Calls between fibers", "[Ports and upcalls](explanation/ports.md) explains both.", "port.hpp upcall_pool.hpp upcall_options.hpp"),
    ("Input and output", "[I/O](explanation/io.md) lists errors, and shows how operations end.", "tcp_stream.hpp tcp_listener.hpp readiness.hpp signal_set.hpp file.hpp look_up.hpp offload.hpp "
     "async_io.hpp io_result.hpp write_error.hpp"),
    ("Coroutines and stacks", "[Continuations](explanation/continuations.md) and [stacks](explanation/stacks.md) explain them.", "generator.hpp coroutine.hpp become.hpp on_large_stack.hpp stacks.hpp fp_control.h errno.h "
     "no_yield.h no_yield_guard.hpp"),
    ("Diagnosis", "`runtime_options` has `report_deadlock` and `report_stuck_after`. A script shows [fibers in gdb](howto/cores_and_gdb.md).", "dump.hpp exception_server.hpp"),
    ("C", "Functions of `sennit.h` return negative errno values.", "sennit.h mctx.h swapstack.h"),
    ("General", "", "fwd.hpp version.h"),
]
NO_NAMES = {"fwd.hpp", "version.h", "sennit.h", "mctx.h", "swapstack.h"}  # too many names, or none


def summary_of(header: Path) -> str:
    """The first sentence of a header, without the names that it begins with, and as a part of a table."""
    lines = []
    for line in header.read_text(encoding="utf-8").splitlines():
        line = re.sub(r"^(//|/\*| \*) ?", "", line)
        if not line or line.startswith("room: "):
            break
        lines.append(line)
    text = re.sub(r"^[\w:<>, ]*?sennit::[\w:<>, ]*?(?: and \w+)?: ", "", " ".join(lines))
    text = re.split(r"(?<=[a-z+\d])\. ", text + " ", maxsplit=1)[0].strip().rstrip(".")
    if re.match(r"[A-Z][a-z ]", text):
        text = text[0].lower() + text[1:]
    return re.sub(r"\b(sennit::[\w:]+(?:\(\))?|\w+\(\)|\w+::\w+(?:\(\))?)", r"`\1`", text)


class Names:
    """What headers declare, from Doxygen's XML."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.free: dict[str, dict[str, list[str]]] = {}  # header: its functions, enumerations and alias templates
        for page in sorted(folder.glob("namespacesennit*.xml")):
            if "_1_1members" in page.name:
                continue
            scope = page.stem.removeprefix("namespacesennit").replace("_1_1", "::").replace("__", "_").lstrip(":")
            scope = scope.removeprefix("local").lstrip(":")
            for member in ElementTree.parse(page).iter("memberdef"):
                header = member.find("location").get("file").removeprefix("sennit/")
                name = "::".join(part for part in [scope, member.findtext("name")] if part)
                if member.get("kind") not in {"function", "typedef", "variable", "enum"} or name.startswith("operator"):
                    continue
                alias = re.search(r"members::(basic_\w+)", "".join(member.itertext()))
                members = [value.findtext("name") for value in member.iter("enumvalue")]
                if alias and member.get("kind") == "typedef":
                    members = self.members(f"classsennit_1_1members_1_1{alias[1].replace('_', '__')}")
                self.free.setdefault(header, {}).setdefault(name, members)

    def members(self, class_id: str) -> list[str]:
        page = self.folder / f"{class_id}.xml"
        if not page.exists():
            return []
        tree = ElementTree.parse(page)
        own = tree.findtext("compounddef/compoundname").split("<")[0].split("::")[-1].strip()
        names = []
        for base in tree.iter("basecompoundref"):
            if "members" in (base.get("refid") or ""):
                names += self.members(base.get("refid"))
        for member in tree.iter("memberdef"):
            name = member.findtext("name")
            if (member.get("prot") == "public" and member.get("kind") in {"function", "variable"} and name != own
                    and not re.match(r"~|operator|basic_", name)):
                names.append(name)
        return list(dict.fromkeys(names))

    def of(self, header: str) -> dict[str, list[str]]:
        """Each name that a header declares, with its members."""
        page = self.folder / (header.replace("_", "__").replace("/", "_2").replace(".", "_8") + ".xml")
        declared: dict[str, list[str]] = {}
        for inner in ElementTree.parse(page).iter("innerclass"):
            name = inner.text.partition("<")[0].strip().removeprefix("sennit::").removeprefix("local::")
            if inner.text.startswith("sennit::") and "::" not in name:
                known = declared.setdefault(name, [])
                known += [member for member in self.members(inner.get("refid")) if member not in known]
        for name, members in self.free.get(header, {}).items():
            declared.setdefault(name, members)
        return declared


def text_of(declared: dict[str, list[str]]) -> str:
    return "; ".join(f"**`{name}`**" + (": " + ", ".join(f"`{member}`" for member in members) if members else "")
                     for name, members in declared.items())


def without(declared: dict[str, list[str]], others: dict[str, list[str]]) -> dict[str, list[str]]:
    """The names and members that only `declared` has."""
    rest = {name: [member for member in members if member not in others.get(name, [])] for name, members in declared.items()}
    return {name: members for name, members in rest.items() if members or name not in others}


def aliases_of(header: Path) -> dict[str, list[str]]:
    """The names that a header takes from elsewhere, which Doxygen may list for another header or not at all."""
    return {name: [] for name in re.findall(r"^using (?:detail::)?(\w+)(?: = .*)?;", header.read_text(encoding="utf-8"), re.MULTILINE)}


def page_of(include: Path, xml: Path) -> str:
    """The tables. Raises ValueError if a public header belongs to no topic."""
    listed = [name for _, _, headers in TOPICS for name in headers.split()]
    public = {path.relative_to(include).as_posix() for pattern in ["*.h", "*.hpp", "local/*.hpp"] for path in include.glob(pattern)}
    lost = sorted(name for name in public if name.removeprefix("local/") not in listed)
    if lost:
        raise ValueError(f"scripts/reference_page.py: these headers have no topic in TOPICS: {', '.join(lost)}")
    names = Names(xml)
    text = BEGIN
    for topic, rule, headers in TOPICS:
        text += f"\n## {topic}\n\n" + (f"{rule}\n\n" if rule else "") + "| header | contents | declares |\n|---|---|---|\n"
        for header in headers.split():
            if header not in public:
                continue
            link = f"[`{header}`](../include/sennit/{header})"
            if f"local/{header}" in public:
                link += f", [`local/`](../include/sennit/local/{header})"
            declared = {} if header in NO_NAMES else aliases_of(include / header) | names.of(header)
            declares = text_of(declared)
            if f"local/{header}" in public:
                path = include / "local" / header
                local = aliases_of(path) | names.of(f"local/{header}")
                if f'"sennit/{header}"' in path.read_text(encoding="utf-8"):  # then it has all names of that, too
                    local = {name: [] for name in declared} | local
                declares += "".join(f". {where} `local/`: {text_of(rest)}" for where, rest in
                                    [("Only in", without(local, declared)), ("Not in", without(declared, local))] if rest)
            text += f"| {link} | {summary_of(include / header)} | {declares} |\n"
    return text
