package checker

import (
	"fmt"
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

// statement is a promise and who judges it.
type statement struct {
	name, says string
	judge      func(h *history, v *Verdict)
}

var statements = []statement{
	{"one-instance", "a machine has at most one living instance at any time", oneInstance},
	{"drain-first", "no instance is ended while a pod that can be evicted is on its node, unless its drain is excluded or timed out", drainFirst},
	{"hooks", "no pod is evicted under a preDrain hook, no instance ended under a preTerminate hook, that was there at the deletion", hooks},
	{"wanted-stays", "no instance of a machine that is wanted is ended", wantedStays},
	{"set-bound", "a set makes no machine beyond what it wanted at any time since what its controller provably knew", setBound},
	{"surge", "a rollout makes no machine beyond replicas and maxSurge", surge},
	{"unavailable", "a rollout gives up no machine below replicas less maxUnavailable", unavailable},
	{"no-roll", "controllers change no template, make one set for each template that somebody asked for, and an exchange of binaries in a quiet fleet touches no machine", noRoll},
	{"no-leak", "nothing is left when everything is deleted", noLeak},
	{"settles", "the fleet becomes what it should be when nobody interferes, and no controller crashes", settles},
	{"recorded", "what controllers were told is made was seen at the infrastructure", recorded},
}

// Judge says what the run came to under each statement.
func Judge(r Run) []Verdict {
	h := sortOut(r)
	var out []Verdict
	for _, s := range statements {
		v := Verdict{Statement: s.name, Says: s.says}
		s.judge(h, &v)
		out = append(out, v)
	}
	return out
}

// breaks notes a breach. Where are lines.
func (v *Verdict) breaks(at time.Time, where []string, format string, args ...any) {
	v.Broken = append(v.Broken, Finding{At: at, Where: where, Message: fmt.Sprintf(format, args...)})
}
