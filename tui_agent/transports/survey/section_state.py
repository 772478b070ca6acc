"""The state of the project: languages, tests, CI, documents, licence, and its activity."""

from __future__ import annotations

from tui_agent.transports.survey.activity import Activity
from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.listing import Share
from tui_agent.transports.survey.manifests_yaml import Workflow
from tui_agent.transports.survey.markup import cell, cite, code
from tui_agent.transports.survey.phrases import Phrases, day, percent
from tui_agent.transports.survey.section_overview import base_of

_SHOWN_LANGUAGES = 12
RECENT_DAYS = 90


def languages(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    found = facts.languages
    if found is None:
        return [phrases.say("tree_empty" if facts.empty else "languages_unknown")]
    blocks = []
    lines = []
    if found.total:
        rows = [
            f"| {cell(name)} | {share.files:,} | {share.size:,} | {percent(share.size / found.total)} |"
            for name, share in list(found.shares.items())[:_SHOWN_LANGUAGES]
        ]
        blocks.append("\n".join([phrases.say("languages_head"), *rows]))
        lines.append(
            phrases.say("languages_note", bytes=phrases.count(found.total, "byte"), base=base_of(facts, phrases))
        )
    else:
        lines.append(phrases.say("no_code"))
    if len(found.shares) > _SHOWN_LANGUAGES:
        lines.append(phrases.say("languages_more", n=len(found.shares) - _SHOWN_LANGUAGES))
    families = [phrases.say(f"family_{family}", **_shared(share, phrases)) for family, share in found.families.items()]
    if families:
        lines.append(phrases.say("languages_families", list=phrases.join(families)))
    for path, share in found.left_out_dirs.items():
        lines.append(phrases.say("left_out_dir", path=code(path + "/"), **_shared(share, phrases)))
    if found.rare_in_left_out:
        lines.append(phrases.say("left_out_rare"))
    for path, size in found.left_out_files.items():
        lines.append(phrases.say("left_out_file", path=code(path), bytes=phrases.count(size, "byte")))
    if found.rare_files:
        lines.append(phrases.say("rare", files=phrases.count(found.rare_files, "file")))
    return [*blocks, "\n".join(f"- {line}" for line in lines)]


def _shared(share: Share, phrases: Phrases) -> dict[str, str]:
    return {"files": phrases.count(share.files, "file"), "bytes": phrases.count(share.size, "byte")}


def quality(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    lines = [_tests(facts, phrases), *_ci(facts, phrases)]
    docs = phrases.codes(f"{path}/" for path in facts.docs.paths)
    lines.append(phrases.say(f"docs_{facts.docs.state}", list=docs))
    lines.append(phrases.say(f"readme_{facts.readme.state}", list=phrases.codes(facts.readme.paths)))
    lines += _licence(facts, phrases)
    for kind, finding in facts.notes.items():
        if finding.paths:
            lines.append(phrases.say(f"note_{kind}", list=phrases.codes(finding.paths)))
    return ["\n".join(f"- {line}" for line in lines)]


def tests_found(facts: Facts, phrases: Phrases) -> str:
    """Where tests are, each place with what was counted there."""
    tests = facts.tests
    shown = [
        phrases.say("tests_room", path=code(room.path + "/"), files=phrases.count(room.files, "file"))
        if room.files is not None
        else code(room.path + "/")
        for room in tests.rooms[:8]
    ]
    for pattern, files, exact in tests.matches:
        count = phrases.at_least(phrases.count(files, "file"), exact)
        shown.append(phrases.say("tests_match", files=count, pattern=code(pattern)))
    if tests.root_files:
        shown.append(phrases.say("tests_root", list=phrases.codes(tests.root_files, 8)))
    return phrases.join(shown)


def _tests(facts: Facts, phrases: Phrases) -> str:
    tests = facts.tests
    if tests.state == "found":
        return phrases.say("tests_found", list=tests_found(facts, phrases))
    if tests.state == "unknown":
        return phrases.say("tests_unknown")
    if tests.searched:
        return phrases.say("tests_missing", list=phrases.codes(tests.searched))
    return phrases.say("tests_missing_plain")


def ci_found(facts: Facts, phrases: Phrases) -> str:
    """The CI systems by their files."""
    return phrases.join(
        phrases.say("ci_system", system=system, path=code(path))
        if system
        else phrases.say("ci_by_name", path=code(path))
        for path, system in facts.ci.systems
    )


def _ci(facts: Facts, phrases: Phrases) -> list[str]:
    ci = facts.ci
    if ci.state != "found":
        return [phrases.say(f"ci_{ci.state}")]
    lines = [phrases.say("ci_found", list=ci_found(facts, phrases))]
    lines += [_workflow(workflow, phrases) for workflow in ci.parsed]
    rest = [path for path in ci.workflows if path not in {workflow.path for workflow in ci.parsed}]
    if rest:
        lines.append(phrases.say("ci_workflows_more", list=phrases.codes(rest, 10)))
    return lines


def _workflow(workflow: Workflow, phrases: Phrases) -> str:
    if workflow.error:
        return phrases.say("ci_workflow_odd", path=code(workflow.path), error=code(workflow.error))
    events, jobs = phrases.codes(workflow.events, 10) or "–", phrases.codes(workflow.jobs, 12) or "–"
    return phrases.say("ci_workflow", path=code(workflow.path), events=events, jobs=jobs)


def _licence(facts: Facts, phrases: Phrases) -> list[str]:
    finding, info = facts.licences, facts.info
    lines = []
    if finding.state == "found":
        lines.append(phrases.say("licence_found", list=phrases.codes(finding.paths)))
        if info and info.licence == "NOASSERTION":
            lines.append(phrases.say("licence_odd"))
        elif info and info.licence:
            lines.append(phrases.say("licence_spdx", licence=code(info.licence)))
        if facts.licence_line:
            path, line = facts.licence_line
            source = cite(path, (line.first, line.last))
            quote = phrases.quote(line.text, 100)
            lines.append(phrases.say("licence_line", path=code(path), quote=quote, source=source))
    elif finding.state == "missing" and info and info.licence:
        lines.append(phrases.say("licence_missing_info", licence=code(info.licence)))
    else:
        lines.append(phrases.say(f"licence_{finding.state}"))
    for manifest in facts.manifests:
        if manifest.licence and "/" not in manifest.path:
            lines.append(phrases.say("licence_declared", path=code(manifest.path), licence=code(manifest.licence)))
    return lines


def activity(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    found = facts.activity
    if found is None or not found.commits:
        folder = facts.info is not None and facts.info.folder
        none = found is not None or (facts.info is not None and facts.history.request.ref and not _has_commit(facts))
        return [
            phrases.say(
                "activity_folder"
                if folder
                else "activity_none"
                if none
                else facts.unseen("activity_unknown", "get_commits")
            )
        ]
    lines = [seen(found, phrases)]
    dates = found.dates
    if len(dates) == 1:
        lines.append(phrases.say("activity_one_date", last=day(dates[0])))
    elif dates:
        lines.append(phrases.say("activity_span", first=day(dates[0]), last=day(dates[-1])))
    if found.days_since is not None:
        since = phrases.count(found.days_since, "day")
        lines.append(phrases.say("activity_since", days=since, today=day(found.today)))
    head = found.commits[0]
    if head.when is not None and head.sha:
        quote = phrases.quote(head.message, 100) if head.message.strip() else "–"
        lines.append(phrases.say("activity_head", sha=code(head.sha[:12]), date=day(head.when), quote=quote))
    if found.median_gap is not None:
        window = phrases.count(RECENT_DAYS, "day")
        gap, recent = f"{found.median_gap:,.1f}", f"{found.within(RECENT_DAYS):,}"
        lines.append(phrases.say("activity_cadence", gap=gap, recent=recent, window=window))
    lines += _people(found, phrases)
    return ["\n".join(f"- {line}" for line in lines)]


def _has_commit(facts: Facts) -> bool:
    return bool(facts.history.request.commit)


def seen(found: Activity, phrases: Phrases) -> str:
    """How many commits were seen, and of how many."""
    commits = phrases.count(len(found.commits), "commit")
    if found.complete:
        return phrases.say("activity_seen", commits=commits)
    if found.total is not None:
        return phrases.say("activity_seen_of", commits=commits, total=f"{found.total:,}")
    return phrases.say("activity_seen_some", commits=commits)


def _people(found: Activity, phrases: Phrases) -> list[str]:
    lines = []
    if found.people:
        shown = [
            phrases.say("by_commits", name=phrases.quote(n, 60), n=f"{c:,}") for n, c in found.people.most_common()
        ]
        authors = phrases.count(len(found.people), "author")
        lines.append(phrases.say("activity_authors", authors=authors, list=phrases.some(shown, 10)))
    if found.bots:
        shown = [phrases.say("by_commits", name=phrases.quote(n, 60), n=f"{c:,}") for n, c in found.bots.most_common()]
        lines.append(phrases.say("activity_bots", list=phrases.some(shown, 10)))
    undated = sum(1 for commit in found.commits if commit.when is None)
    for key, number in (
        ("activity_nameless", found.nameless),
        ("activity_future", found.future),
        ("activity_undated", undated),
    ):
        if number:
            lines.append(phrases.say(key, n=f"{number:,}"))
    return lines
