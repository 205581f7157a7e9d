package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/health"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// rebooting says whether machines are rebooted.
type rebooting struct {
	// reboots: some checks have machines rebooted before they are replaced.
	reboots bool
	// power is how the cloud reboots an instance, if it can.
	power cloud.Power
}

// rebootSource is the source of random numbers of this profile alone.
const rebootSource = widerSource + 0x4eb007

func (b *rebooting) draw(r *rand.Rand) {
	b.reboots = r.IntN(2) == 0
	b.power = []cloud.Power{"", cloud.Once, cloud.Once, cloud.EachTime}[r.IntN(4)]
}

// escalate gives a check an escalation to reboots, or none.
func (w *World) escalate(c *check) {
	if !w.profile.reboots {
		return
	}
	dialect.SetAnnotation(c, dialect.EscalationAnnotation, []string{"", "none", "reboot", "reboot"}[w.roll(4)])
	dialect.SetAnnotation(c, dialect.RebootTimeoutAnnotation, []string{"", "3m", "8m"}[w.roll(3)])
}

// openPower lets the cloud reboot instances.
func (w *World) openPower() {
	if w.profile.checks && w.profile.reboots {
		w.cloud.Power = w.profile.power
	}
	w.cloud.OnReboot = func(i *cloud.Machine) {
		w.judge.Rebooted(w.instance(i), w.acting)
		w.reboot(w.kubelet(i))
	}
}

// reboot makes a kubelet silent. The kubelet returns healthy, returns as it was, or never returns.
func (w *World) reboot(k *kubelet) {
	k.stalled = w.now.Add(time.Duration(w.between(15, 150)) * time.Second)
	n := w.roll(10)
	switch {
	case n < 6:
		k.failure = nodeFailure{}
	case n < 8:
		k.failure = nodeFailure{from: w.now, mute: true, forGood: true}
	}
	w.tracef("cloud", "instance %s of %s REBOOTS, well %v, lost %v", k.on.ID, k.on.Name, n < 6, n >= 6 && n < 8)
}

// restarting makes worlds in which checks have every unhealthy machine rebooted first.
func restarting(power cloud.Power) func(*profile) {
	return func(c *profile) {
		healthSetting(c)
		c.reboots, c.power, c.hollow, c.versions = true, power, false, false
	}
}

// rebootMutants reboot machines that they must not reboot.
func rebootMutants() []Mutation {
	return []Mutation{
		{
			Name: "a machine is rebooted before its node was sick for long enough", Finds: []string{judge.HealthyStay}, Setting: restarting(cloud.Once),
			Checks: CheckDefects{OfCheck: func(_ *check, v *health.Check, _ int) {
				if !v.Escalation.Reboot {
					return
				}
				for i := range v.Conditions {
					v.Conditions[i].Timeout = time.Second
				}
			}},
		},
		{
			Name: "a machine that falls ill again after a reboot is rebooted again", Finds: []string{judge.RebootsApart}, Dialects: []string{Gardener}, Setting: restarting(cloud.Once),
			Checks: CheckDefects{Client: func(c client.Client, live client.Reader) (client.Client, client.Reader) {
				return editing{c, unasked}, unaskedReader{live}
			}},
		},
	}
}

// unasked hides that a reboot was ever requested.
func unasked(o client.Object) (hide bool) {
	if _, asked := o.GetAnnotations()[dialect.RebootRequestAnnotation]; asked {
		dialect.SetAnnotation(o, dialect.RebootRequestAnnotation, "")
	}
	return false
}

// unaskedReader hides it from clients that read the API server directly.
type unaskedReader struct{ client.Reader }

// Get implements [client.Reader].
func (r unaskedReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	unasked(o)
	return err
}
