package judge

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The annotations that request reboots.
const (
	escalation    = "millwright.dev/escalation"
	rebootTimeout = "millwright.dev/reboot-timeout"
	rebootRequest = "millwright.dev/reboot-request"
	rebootAnswer  = "millwright.dev/reboot"
	// rebootsRest is how long after a reboot a machine that becomes unhealthy again is replaced instead of rebooted. mostCalls
	// is how often one request may reboot a machine if the cloud does not recognize repeated requests.
	rebootsRest = time.Hour
	mostCalls   = 2
)

// reboots are the reboots of each machine, oldest first.
type reboots map[types.UID][]reboot

// reboot is one reboot and its request.
type reboot struct {
	request string
	at      time.Time
}

// rebootRequested is the last reboot request of a machine.
func rebootRequested(m client.Object) (name string, at time.Time) {
	var asked struct {
		At string `json:"at"`
	}
	if json.Unmarshal([]byte(m.GetAnnotations()[rebootRequest]), &asked) != nil {
		return "", at
	}
	return asked.At, instant(asked.At)
}

// patienceOf is the check's timeout of a reboot; zero if the check requests no reboots.
func patienceOf(c *check) time.Duration {
	if c.Annotations[escalation] != "reboot" {
		return 0
	}
	if d := positive(c.Annotations[rebootTimeout]); d != nil {
		return *d
	}
	if wait := startup(c); wait > 0 && !c.older {
		return wait
	}
	return 10 * time.Minute
}

// recovers reports whether c must still wait for the effect of the machine's reboot.
func (j *Judge) recovers(c *check, t target) bool {
	patience := patienceOf(c)
	name, from := rebootRequested(t)
	if patience == 0 || name == "" || t.on == nil || t.failure {
		return false
	}
	var came struct {
		Request, State string
		At             time.Time
	}
	if json.Unmarshal([]byte(t.GetAnnotations()[rebootAnswer]), &came) == nil && came.Request == name {
		switch came.State {
		case "Failed", "Unsupported":
			return false
		case "Done":
			from = came.At
		}
	}
	return j.Now().Sub(from) <= patience+settle+j.Skew
}

// Rebooted judges that an instance is rebooted.
func (j *Judge) Rebooted(i Instance, p *Pass) {
	m, there := find(j.machines(), types.UID(i.UID))
	if !there || p == nil || p.By.Deposed {
		return
	}
	name := ""
	for _, o := range j.since(m.GetUID(), p, bySight) {
		if o != nil {
			name, _ = rebootRequested(o)
		}
	}
	calls := 1
	for _, r := range j.rebooted[m.GetUID()] {
		switch {
		case r.request == name:
			calls++
		case j.Now().Sub(r.at) < rebootsRest-2*j.Skew:
			j.Broken(RebootsApart, "machine %s is rebooted for request %q, %v after the reboot for request %q", m.GetName(), name, j.Now().Sub(r.at), r.request)
		}
	}
	if calls > mostCalls {
		j.Broken(RebootsApart, "machine %s is rebooted for request %q for the %dth time", m.GetName(), name, calls)
	}
	j.rebooted[m.GetUID()] = append(j.rebooted[m.GetUID()], reboot{name, j.Now()})
}
