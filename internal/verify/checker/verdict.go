package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is what a run came to under one statement.
type Verdict struct {
	// Statement is short and stable, Says what it promises.
	Statement, Says string
	// Judged counts the occasions on which the run could have broken it: with none it proved nothing.
	Judged int
	// Broken are the occasions on which it did.
	Broken []Finding
}

// Finding is one breach of a statement.
type Finding struct {
	At      time.Time
	Message string
	// Where are the lines of the logs that show it.
	Where []string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s %v", f.At.UTC().Format("15:04:05.000"), f.Message, f.Where)
}

// The statements that a test asks for by name.
const (
	OneInstance = "one-instance"
	OthersKept  = "others-kept"
	Rest        = "rest"
)

// statement is a promise and who judges it.
type statement struct {
	name, says string
	judge      func(h *history, v *Verdict)
}

var statements = []statement{
	{OneInstance, "at most one instance per machine at any time, and one ever where the infrastructure keeps what it accepted", oneInstance},
	{"drain-first", "no instance is ended while a pod that can be evicted is on its node, unless its drain is excluded or timed out", drainFirst},
	{"hooks", "no pod is evicted under a preDrain hook, no instance ended under a hook, that was there at the deletion", hooks},
	{"wanted-stays", "no instance of a machine that is wanted is ended", wantedStays},
	{"held-first", "no instance is made for a machine that has no finalizer", heldFirst},
	{"node-last", "no node is deleted while its instance is there", nodeLast},
	{"released-last", "no machine is let go of while its instance, or a part of it, is there", released},
	{"set-bound", "a set makes no machine beyond what it wanted at any time since what its controller provably knew", setBound},
	{"surge", "a rollout makes no machine beyond replicas and maxSurge", surge},
	{"unavailable", "a rollout deletes no machine below replicas less maxUnavailable", unavailable},
	{"no-roll", "controllers change no template, make one set for each template that a user asked for, and an exchange of binaries in a quiet fleet touches no machine", noRoll},
	{OthersKept, "no instance of another cluster is ended", othersKept},
	{Rest, "at rest each set has the machines that it wants, each machine works and has one instance and one node, and there is nothing else", rest},
	{"no-leak", "nothing is left when everything is deleted", noLeak},
	{"settles", "the fleet becomes what it should be without interference, and no controller crashes", settles},
	{"recorded", "each instance that a reply reported to a controller was seen at the infrastructure", recorded},
}

// Judge says what the run came to under each statement, or under those that are named.
func Judge(r Run, names ...string) []Verdict {
	h := sortOut(r)
	var out []Verdict
	for _, s := range named(names) {
		v := Verdict{Statement: s.name, Says: s.says}
		s.judge(h, &v)
		out = append(out, v)
	}
	return out
}

// named are the statements with the names, or all.
func named(names []string) []statement {
	if len(names) == 0 {
		return statements
	}
	return slices.DeleteFunc(slices.Clone(statements), func(s statement) bool { return !slices.Contains(names, s.name) })
}

// Wrong says how the run breaks the statements that are named; empty: it does not. For people it is long enough with twenty of
// its ways.
func Wrong(r Run, names ...string) string {
	var out []string
	for _, v := range Judge(r, names...) {
		for _, f := range v.Broken {
			out = append(out, f.Message)
		}
	}
	slices.Sort(out)
	return strings.Join(out[:min(len(out), 20)], "; ")
}

// breaks notes a breach. Where are lines.
func (v *Verdict) breaks(at time.Time, where []string, format string, args ...any) {
	v.Broken = append(v.Broken, Finding{At: at, Where: where, Message: fmt.Sprintf(format, args...)})
}
