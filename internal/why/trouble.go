package why

import (
	"time"

	"github.com/millwright-dev/millwright/internal/approval"
	"github.com/millwright-dev/millwright/internal/evidence"
	"github.com/millwright-dev/millwright/internal/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// trouble is what a kind of failure means to a person.
type trouble struct{ reason, what, next string }

var troubles = map[provider.Kind]trouble{
	provider.Exhausted: {"ResourceExhausted", "quota or capacity of the infrastructure is used up", "wait, as it is tried again; or raise the quota, or ask for another type or zone"},
	provider.Invalid:   {"InvalidConfiguration", "what it is to be made from is refused", "correct the field that is named, where the machine is made from"},
	provider.Denied:    {"PermissionDenied", "the infrastructure denies its credentials", "renew the credentials in the secret that the machine is made with, or grant them what is named"},
	provider.Conflict:  {"Conflict", "something else is under way at the infrastructure", "wait: it is tried again"},
}

// troubleOf never lacks an answer: what is not classified is tried again.
func troubleOf(k provider.Kind) trouble {
	if t, ok := troubles[k]; ok {
		return t
	}
	return trouble{string(lifecycle.ReasonCreateFailed), "attempts to make it fail", "mend what is named; it is tried again by itself"}
}

// patience is how long a certificate request may wait before somebody should
// look: a node usually asks moments before its machine is known under its name.
const patience = time.Minute

// refused is the approver's verdict on what will not be granted as it is.
const refused = string(approval.Refuse)

// requestCauses are the requests that were not granted, the refused first.
func (q *question) requestCauses() (out []Cause) {
	for _, hard := range []bool{true, false} {
		for _, r := range q.Requests {
			if (r.Verdict == refused) != hard {
				continue
			}
			c := Cause{Source: "certificatesigningrequest " + r.Name, Reason: r.Reason, Since: r.Created, Message: "it waits for a decision"}
			switch {
			case hard:
				c.Message = "it was refused: " + clause(r.Message)
			case r.Message != "":
				c.Message = "it is not approved yet: " + clause(r.Message)
			}
			out = append(out, c)
		}
	}
	return out
}

// worstRequest is the refused one that has waited longest, else the one that
// has.
func (q *question) worstRequest() evidence.Request {
	var worst evidence.Request
	for _, r := range q.Requests {
		harder := r.Verdict == refused && worst.Verdict != refused
		same := (r.Verdict == refused) == (worst.Verdict == refused)
		if worst.Name == "" || harder || same && r.Created.Before(worst.Created) {
			worst = r
		}
	}
	return worst
}

// advice on requests that are not approved, by the approver's reasons.
var advice = map[approval.Reason]string{
	approval.ReasonTooMany:           "clear the crowd: delete pending certificate requests that belong to no machine",
	approval.ReasonUntrusted:         "see with which token the instance boots: only bootstrap tokens of a trusted group are accepted",
	approval.ReasonTokenGone:         "delete the machine: its bootstrap token has expired, and another machine gets another",
	approval.ReasonOtherToken:        "see where the boot data come from: two machines share one token",
	approval.ReasonNodeExists:        "delete the node of that name, if it is left over from an earlier machine",
	approval.ReasonNoMachine:         "see under which name the kubelet registers: it must be the one that the infrastructure reports for the machine",
	approval.ReasonAmbiguous:         "delete one of the machines that have the name",
	approval.ReasonOutsideJoinWindow: "delete the machine: it may join within two hours of its creation",
	approval.ReasonLinked:            "see that no second instance boots with the same data: the machine has its node already",
	approval.ReasonNoAddresses:       "wait for the infrastructure to report addresses of the instance",
	approval.ReasonAddress:           "compare the addresses of the request with those of the instance: the kubelet asks for one that is not the machine's",
}

func adviceOn(r evidence.Request) string {
	if a, ok := advice[approval.Reason(r.Reason)]; ok {
		return a
	}
	return "compare what the kubelet asks for with what is objected to: `kubectl describe csr " + r.Name + "`"
}
