package checker

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Verdict is the result of a run for one statement.
type Verdict struct {
	// Statement is short and stable; Says is its text.
	Statement, Says string
	// Judged counts the events that could have broken the statement. A verdict with 0 proves nothing.
	Judged int
	// Broken are the events that broke it.
	Broken []Finding
}

// Finding is one breach of a statement.
type Finding struct {
	At      time.Time
	Message string
	// Where are the lines of the logs that show the breach.
	Where []string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s %s %v", f.At.UTC().Format("15:04:05.000"), f.Message, f.Where)
}

// The statements that tests name.
const (
	OneInstance = "one-instance"
	OthersKept  = "others-kept"
	Rest        = "rest"
)

// statement is a promise and the function that judges it.
type statement struct {
	name, says string
	judge      func(h *history, v *Verdict)
}

var statements = []statement{
	{OneInstance, "at most one instance per machine at any time, and one in its whole life if the infrastructure ends no instance by itself", oneInstance},
	{"drain-first", "no instance is ended while a pod that can be evicted is on its node, unless its drain is excluded or timed out", drainFirst},
	{"hooks", "no pod is evicted under a preDrain hook and no instance is ended under any hook; a hook counts if it existed at the deletion", hooks},
	{"wanted-stays", "no instance of a wanted machine is ended", wantedStays},
	{"held-first", "no instance is created for a machine without a finalizer", heldFirst},
	{"node-last", "no node is deleted while its instance exists", nodeLast},
	{"released-last", "no machine is removed while its instance or a part of the instance exists", released},
	{"set-bound", "a set creates no machine beyond the largest number that its controller may have read", setBound},
	{"surge", "a rollout creates no machine beyond replicas and maxSurge", surge},
	{"unavailable", "a rollout deletes no machine that leaves fewer than replicas less maxUnavailable", unavailable},
	{"no-roll", "controllers change no template, create sets only for templates that a user wrote, and touch no machine of a quiet fleet when only binaries are exchanged", noRoll},
	{OthersKept, "no instance of another cluster is ended", othersKept},
	{Rest, "at rest each set has the machines that it wants, each machine works and has one instance and one node, and nothing else exists", rest},
	{"no-leak", "nothing is left when everything is deleted", noLeak},
	{"settles", "without interference the fleet reaches its wanted state, and no controller crashes", settles},
	{"recorded", "each instance that a reply reported to a controller is in the infrastructure's own events", recorded},
}

// Judge returns the verdicts of a run for the named statements, or for all without names.
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

// named returns the statements with the names, or all without names.
func named(names []string) []statement {
	if len(names) == 0 {
		return statements
	}
	return slices.DeleteFunc(slices.Clone(statements), func(s statement) bool { return !slices.Contains(names, s.name) })
}

// Wrong returns the messages about broken statements, at most twenty; empty if no named statement is broken.
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

// breaks adds a breach to the verdict. Where are lines of the logs.
func (v *Verdict) breaks(at time.Time, where []string, format string, args ...any) {
	v.Broken = append(v.Broken, Finding{At: at, Where: where, Message: fmt.Sprintf(format, args...)})
}
