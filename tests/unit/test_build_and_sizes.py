# SPDX-License-Identifier: GPL-2.0-or-later
"""The build's reading of the public header, and the size checks."""

from pathlib import Path

from scripts import build_core, check_sizes

SCRIPTS = Path(build_core.__file__).parent


def test_cffi_sees_declarations_only() -> None:
    header = (
        "/* PRR_API in a comment\n# not a directive */\n"
        "#define LONG \\\n\tmore \\\n\tand more\n"
        "  # include <x.h>\n"
        "PRR_API PRR_MUST_USE int f(int a); /* PRR_API */ // #line\n"
        "#endif"
    )
    assert build_core.declarations(header).split() == ["int", "f(int", "a);", "//", "#line"]


C_TEXT = """\
/* } */
struct x {
	int a;
};
static const char *names[] = {
	"}",
	"{",
};
__attribute__((format(printf, 1, 2))) static int
long_one(const char *a, ...)
{
	if (a[0] == '{') {
		return 1;
	}
	return 0;
}

enum { A = 1 };
int short_one(void) { return A; }
"""


def test_c_functions_are_found() -> None:
    found = list(check_sizes.c_functions(C_TEXT))
    assert found == [("long_one", 11, 6), ("short_one", 19, 1)]


def test_what_is_too_big_is_found(tmp_path: Path) -> None:
    long_c = "int f(void)\n{\n" + "\ta();\n" * 79 + "}\n" + "\n" * 720 + "\t" * 12 + "12345\n"
    found = [str(finding) for finding in check_sizes.check_c(tmp_path / "x.c", long_c)]
    assert [line.partition(".c:")[2] for line in found] == [
        "1: file has 803, the limit is 800",
        "803: line has 101, the limit is 100",
        "2: function f has 81, the limit is 80",
    ]
    long_python = "def f():\n" + "    x = 1\n" * 50
    found = [str(finding) for finding in check_sizes.check_python(tmp_path / "x.py", long_python)]
    assert [line.partition(".py:")[2] for line in found] == [
        "1: function f has 51, the limit is 50"
    ]


def test_every_source_names_its_licence() -> None:
    root = SCRIPTS.parent
    patterns = ("csrc/**/*.[ch]", "pyrr/**/*.py", "tests/**/*.py", "tests/**/*.[ch]", "scripts/*")
    bare = [
        str(path.relative_to(root))
        for pattern in patterns
        for path in root.glob(pattern)
        if path.is_file()
        and path.suffix not in {".pyc", ".so"}
        and "build" not in path.parts
        and path.name != "_pyrr_core.c"
        and "SPDX-License-Identifier: GPL-2.0-or-later" not in path.read_text("utf-8")[:300]
    ]
    assert bare == []
