package disruption

import (
	"fmt"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/api/millwright/v1alpha1"
)

// Use is how much of a budget is in use.
type Use struct {
	// Machines is the number of selected machines.
	Machines int
	// InUse is the number of permits, for any cause.
	InUse int
}

// Ask is a question whether the disruption of a machine may begin.
type Ask struct {
	Reason Reason
	// Holds says that the machine has a permit of this budget already.
	Holds bool
	// Ahead is the number of machines that wait for the same permit and have waited longer.
	Ahead int
}

// Answer is the answer of one budget.
type Answer struct {
	Granted bool
	// Message says which limit the machine waits for. It does not change while the machine waits for this limit.
	Message string
	// Until is when that limit ends by itself; zero if it does not, or if that is unknown.
	Until time.Time
	// Stopped says that the budget permits nothing for the cause until a user changes it.
	Stopped bool
	// Turn says that the machine waits until another machine gives back its permit.
	Turn bool
}

// Decide answers whether a disruption may begin. A machine with a permit keeps it: what has begun is completed.
func (b Budget) Decide(now time.Time, u Use, a Ask) Answer {
	switch {
	case a.Holds:
		return Answer{Granted: true}
	case len(b.faults) > 0:
		return b.stop("is invalid and permits nothing: " + b.Faults())
	case b.paused && a.Reason != v1alpha1.ReasonInterruption:
		return b.stop("is paused")
	}
	l, most, ends := b.tightest(now, a.Reason, u.Machines)
	switch {
	case l == nil, u.InUse+a.Ahead < most:
		return Answer{Granted: true}
	case most == 0 && l.query != nil:
		return b.wait("permits no "+words[a.Reason]+l.query.while(now), ends)
	case most == 0 && !ends.IsZero():
		return b.wait(fmt.Sprintf("permits no %s until %s", words[a.Reason], ends.Format(time.RFC3339)), ends)
	case most == 0:
		return b.stop("permits no " + words[a.Reason])
	}
	out := b.wait(fmt.Sprintf("permits %s at a time%s%s", counted(most), l.query.while(now), turn), ends)
	out.Turn = true
	return out
}

const turn = ": the machine waits for its turn"

// Limit is the message without the words about the machine that asks.
func (a Answer) Limit() string { return strings.Replace(a.Message, turn, "", 1) }

// waitsFor is how the message of each refusal begins.
func waitsFor(budget string) string { return "machine disruption budget " + budget + ", which " }

// NamesStop reports whether a message is about a machine that waits for the end of the emergency stop.
func NamesStop(message string) bool { return strings.Contains(message, waitsFor(EmergencyStop)) }

// wait returns a refusal. The text continues the name of the budget.
func (b Budget) wait(text string, until time.Time) Answer {
	text = waitsFor(b.Name) + text
	if b.message != "" {
		text += " (" + b.message + ")"
	}
	return Answer{Message: text, Until: until}
}

// stop returns the refusal of a budget that permits nothing until a user changes it.
func (b Budget) stop(text string) Answer {
	a := b.wait(text, time.Time{})
	a.Stopped = true
	return a
}

// tightest returns the limit that allows the fewest disruptions for the cause now, how many these are, and when the limit ends
// (zero: it does not); nil: no limit applies. Of limits that allow none, it is the one that ends last.
func (b Budget) tightest(now time.Time, r Reason, machines int) (tightest *limit, most int, ends time.Time) {
	for i := range b.limits {
		l := &b.limits[i]
		if !l.about(r) {
			continue
		}
		end, active := l.active(now)
		if !active {
			continue
		}
		n := l.nodes.of(machines)
		longer := !ends.IsZero() && (end.IsZero() || end.After(ends))
		if tightest == nil || n < most || n == most && longer {
			tightest, most, ends = l, n, end
		}
	}
	return tightest, most, ends
}

// Allowed returns how many disruptions for the cause may exist at the same time; false: any number.
func (b Budget) Allowed(now time.Time, r Reason, machines int) (n int, limited bool) {
	if len(b.faults) > 0 || b.paused && r != v1alpha1.ReasonInterruption {
		return 0, true
	}
	l, most, _ := b.tightest(now, r, machines)
	return most, l != nil
}

// words are the causes in messages.
var words = map[Reason]string{
	"": "disruption of an unknown cause", v1alpha1.ReasonRollout: "rollout", v1alpha1.ReasonRemediation: "remediation", v1alpha1.ReasonScaleDown: "scale-down",
	v1alpha1.ReasonInterruption: "interruption", v1alpha1.ReasonReboot: "reboot", v1alpha1.ReasonManual: "manual disruption",
}

func counted(n int) string {
	if n == 1 {
		return "1 disruption"
	}
	return fmt.Sprintf("%d disruptions", n)
}
