package explain

import (
	"regexp"
	"time"

	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
)

// patience is how long a certificate request may wait before a user should look: a node often sends it
// moments before its machine is known under that name.
const patience = time.Minute

// refused is the approver's verdict on a request that it will not approve unchanged.
const refused = string(approval.Refuse)

// requested explains a machine whose kubelet has requested a certificate and not received one.
func (q *input) requested() finding {
	r := q.worstRequest()
	f := finding{
		key: reasonCertificate, reason: r.Reason, chain: q.requestCauses(),
		fill: []string{"asked", span(q.now.Sub(r.Created)), "request", r.Name},
	}
	long := q.now.Sub(r.Created) > patience
	switch {
	case r.Reason == ReasonRequestDenied:
		f.key = r.Reason
	case r.Verdict == refused || r.Verdict != "" && long:
		f.key = variant(reasonCertificate, "Other")
		if reasons[r.Reason].text == kubelet {
			f.key = r.Reason
		}
	case r.Verdict == "" && long:
		f.key = variant(reasonCertificate, "Long")
	}
	return f
}

// requestCauses returns the requests that were not approved, the refused first.
func (q *input) requestCauses() (out []Cause) {
	for _, hard := range []bool{true, false} {
		for _, r := range q.Requests {
			if (r.Verdict == refused) != hard {
				continue
			}
			c := Cause{Source: "certificatesigningrequest " + r.Name, Reason: r.Reason, Since: r.Created, Message: "it waits for a decision"}
			switch {
			case r.Reason == ReasonRequestDenied:
				c.Message = "it was denied" + colon(r.Message)
			case hard:
				c.Message = "it was refused" + colon(r.Message)
			case r.Message != "":
				c.Message = "it is not approved yet" + colon(r.Message)
			}
			out = append(out, c)
		}
	}
	return out
}

// worstRequest returns the refused request that has waited longest, otherwise the request that has.
func (q *input) worstRequest() postmortem.Request {
	var worst postmortem.Request
	for _, r := range q.Requests {
		harder := r.Verdict == refused && worst.Verdict != refused
		same := (r.Verdict == refused) == (worst.Verdict == refused)
		if worst.Name == "" || harder || same && r.Created.Before(worst.Created) {
			worst = r
		}
	}
	return worst
}

// refusers match the API server's messages that name what refused a request.
var refusers = []struct {
	of string
	is *regexp.Regexp
}{
	{"Quota", regexp.MustCompile(`exceeded quota: ([^,\s]+)`)},
	{"Webhook", regexp.MustCompile(`failed calling webhook "([^"]+)"`)},
	{"Denied", regexp.MustCompile(`admission webhook "([^"]+)" denied the request`)},
}

// refuser returns the kind of admission that refused a machine ("Quota"), as in the variants of its reason;
// empty if the message names none. named returns the name of that quota or webhook.
func refuser(message string) string {
	for _, r := range refusers {
		if r.is.MatchString(message) {
			return r.of
		}
	}
	return ""
}

func named(message string) string {
	for _, r := range refusers {
		if found := r.is.FindStringSubmatch(message); found != nil {
			return found[1]
		}
	}
	return ""
}
