package mutants

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// result is a mutant's result, found by the test; an empty test name means that no test found it.
func result(id, test string, change ...func(*Result)) Result {
	r := Result{ID: id, Verdicts: []Verdict{{Units: &Run{Failed: test}}}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func TestShortcomings(t *testing.T) {
	explained := func(r *Result) { r.Survives = "it cannot be reached" }
	looked := func(statement string) func(*Result) {
		return func(r *Result) {
			r.Hunted, r.Looks = true, map[string]Look{"gardener": {Worlds: 500, Statement: statement}}
		}
	}
	var nineteen []Result
	for range 19 {
		nineteen = append(nineteen, result("a/found", "TestA"))
	}
	for _, c := range []struct {
		reason string
		more   []Result
		want   string
	}{
		{"one of twenty may survive", []Result{result("a/b", "")}, ""},
		{"two of twenty-one may not", []Result{result("a/b", ""), result("a/c", "")}, "find 90 % of our own mutants"},
		{"what says why does not count", []Result{result("a/b", ""), result("a/c", "", explained)}, ""},
		{"an explanation is taken out when a test finds it", []Result{result("a/b", "TestB", explained)}, "says that it cannot be"},
		{"generated ones are for people to look at", []Result{result("a/b", ""), result("a/c", "", func(r *Result) { r.Generated = true })}, ""},
		{"what touches a statement has to be seen where it was looked for", []Result{result("a/b", "TestB", looked(""))}, "the simulator does not find it"},
		{"it was seen", []Result{result("a/b", "TestB", looked("drained first"))}, ""},
		{"our own compile", []Result{result("a/b", "", func(r *Result) { r.Verdicts[0] = Verdict{Stillborn: "no"} })}, "a/b: no"},
	} {
		got := strings.Join(Shortcomings(append(nineteen[:19:19], c.more...)), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	long := result("machinedeployment/"+strings.Repeat("very", 20), "Test"+strings.Repeat("Long", 20), func(r *Result) {
		r.Verdicts[0].Units.Seconds = 1234.5
		r.Verdicts[0].Properties = &Run{Failed: strings.Repeat("ö", 50), Seconds: 1234.5}
		r.Looks = map[string]Look{"openshift": {Worlds: 123456789, Statement: "x"}}
	})
	for _, line := range []string{Header(), long.Line()} {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, c := range []struct{ got, part string }{
		{result("a/b", "TestOne").Line(), "One 0.0s"},
		{result("a/b", "").Line(), "none"},
		{Result{ID: "a/b", Verdicts: []Verdict{{Stillborn: "x"}}}.Line(), "does not compile"},
	} {
		if !strings.Contains(c.got, c.part) {
			t.Errorf("%q is not in %q", c.part, c.got)
		}
	}
}
