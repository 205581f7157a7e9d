package sim

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

// hollow is the cloud of the provider kubemark, in memory and with the world's clock. It replaces
// internal/verify/sim/cloud, which mirrors kubemark's instances for kubelets and for the judge.
type hollow struct {
	w    *World
	real *kubemark.Provider
	spec kubemark.Spec
}

// settleHollow removes the features that only internal/verify/sim/cloud has: foreign instances, accounts, false answers,
// and calls that arrive long after they were sent. No controller publishes capacities, because the judge reads them from
// specs that kubemark does not see. Nothing is restored from a backup, because users could not remove the instances that
// a backup does not have.
func (c *profile) settleHollow() {
	if !c.hollow {
		return
	}
	c.misdirectionProfile, c.versions, c.helpers, c.restores, c.choiceProfile = misdirectionProfile{}, false, false, false, choiceProfile{}
	c.cloud.Named, c.cloud.Hosts, c.cloud.Scarce = false, false, false
	c.cloud.Habits = cloud.Habits{}
	c.percent[cloudLate], c.percent[cloudCut] = 0, 0
}

// worldClock is the world's clock, for callers that need the type with timers but set no timers.
type worldClock struct {
	clock.Clock
	w *World
}

// Now implements clock.PassiveClock.
func (c worldClock) Now() time.Time { return c.w.now }

// Since implements clock.PassiveClock.
func (c worldClock) Since(t time.Time) time.Duration { return c.w.Since(t) }

func (w *World) openHollow() {
	if !w.profile.hollow || len(w.apis) > 1 {
		return
	}
	p, err := kubemark.New(kubemark.Config{NodeIP: "10.0.0.1", Clock: worldClock{w: w}})
	w.must("open kubemark", err)
	t := w.profile.cloud
	w.hollow = &hollow{w: w, real: p, spec: kubemark.Spec{
		TypeMeta: metav1.TypeMeta{APIVersion: kubemark.OpenShiftAPIVersion, Kind: kubemark.Kind},
		Latencies: kubemark.Latencies{
			BootLatency: &metav1.Duration{Duration: t.Boot}, DeleteLatency: &metav1.Duration{Duration: t.Stop}, ReadLag: &metav1.Duration{Duration: t.Lag},
		},
	}}
	if w.profile.percent[cloudHalf] > 0 {
		w.hollow.spec.CreateFailureRate = float64(usual[cloudHalf]) / 100
	}
	w.cloud.Others, w.cloud.OnKill = w.hollow.parts, w.hollow.kill
}

// open opens a session with a spec of the world, and ignores the spec of the class.
func (h *hollow) open(ctx context.Context, class provider.Class, spec kubemark.Spec) (provider.Session, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	class.API, class.Spec = provider.OpenShift, raw
	return h.real.Open(ctx, class)
}

// own is the world's own session: it shows all instances at once.
func (h *hollow) own() provider.Session {
	spec := h.spec
	spec.ReadLag = nil
	s, err := h.open(context.Background(), provider.Class{Cluster: clusterName}, spec)
	h.w.must("open kubemark", err)
	return s
}

// parts are the parts that have no instance.
func (h *hollow) parts(uid string) (out []*cloud.Part) {
	lister, _ := provider.As[provider.LeftoverLister](h.own())
	for l, err := range lister.Leftovers(context.Background()) {
		h.w.must("list what is left", err)
		if uid == "" || l.UID == uid {
			out = append(out, &cloud.Part{Place: home, UID: l.UID, Name: l.Kind, Owner: l.Owner, Namespace: l.Namespace})
		}
	}
	return out
}

// kill terminates an instance.
func (h *hollow) kill(m *cloud.Machine) {
	_, err := h.own().Delete(context.Background(), provider.Ref{}, []provider.Instance{{ID: m.ID, UID: m.UID, NodeName: m.Host}})
	h.w.must("take an instance back", err)
	h.w.cloud.Ends(m, h.w.now.Add(h.w.profile.cloud.Stop))
}

// hollowProvider is the provider kubemark as one process calls it.
type hollowProvider struct {
	*hollow
	gate cloud.Gate
}

// Name implements [provider.Provider].
func (hollowProvider) Name() string { return "kubemark" }

// Open implements [provider.Provider].
func (p hollowProvider) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	if class.Cluster == "" {
		return nil, provider.InvalidField("cluster", "must be set")
	}
	s, err := p.open(ctx, class, p.spec)
	if err != nil {
		return nil, err
	}
	return hollowSession{s, p, class}, nil
}

// hollowSession sends its calls through the gate and mirrors their effects.
type hollowSession struct {
	provider.Session
	p     hollowProvider
	class provider.Class
}

// Unwrap implements [provider.Wrapper].
func (s hollowSession) Unwrap() any { return s.Session }

// Account implements [provider.Session]: kubemark's own account is different in every run.
func (hollowSession) Account(context.Context) (string, error) { return cloud.MainAccount, nil }

func (s hollowSession) call(c cloud.Call, do func() error) error {
	return s.p.gate(c, func() error {
		if len(s.class.Credentials[cloud.CredentialKey]) == 0 {
			return provider.Errorf(provider.Denied, "not authorized")
		}
		return do()
	})
}

// Find implements [provider.Session].
func (s hollowSession) Find(ctx context.Context, ref provider.Ref) (out []provider.Instance, err error) {
	err = s.call(cloud.Call{Verb: "find", Ref: ref}, func() (err error) {
		out, err = s.Session.Find(ctx, ref)
		return err
	})
	return out, err
}

// Create implements [provider.Session].
func (s hollowSession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (i provider.Instance, err error) {
	err = s.call(cloud.Call{Verb: "create", Ref: ref}, func() (err error) {
		if i, err = s.Session.Create(ctx, ref, want); err == nil {
			s.p.mirror(i, ref, want)
		}
		return err
	})
	if err != nil {
		return provider.Instance{}, err
	}
	return i, nil
}

// mirror shows a new instance in the mirroring cloud, unless it is already there.
func (h *hollow) mirror(i provider.Instance, ref provider.Ref, want provider.Want) {
	if slices.ContainsFunc(h.w.cloud.Existing(i.UID), func(m *cloud.Machine) bool { return m.ID == i.ID }) {
		return
	}
	m := cloud.Machine{
		Place: home, ID: i.ID, UID: i.UID, Name: ref.Name, Host: i.NodeName, Called: i.ProviderID, Owner: i.Owner, Namespace: i.Namespace,
		UserData: want.UserData, Created: i.Created,
	}
	for _, a := range i.Addresses {
		if a.Type == corev1.NodeInternalIP {
			m.IP = a.Address
		}
	}
	m.Boots(i.Created.Add(h.w.profile.cloud.Boot))
	made := h.w.cloud.Mirror(m)
	if k := h.w.kubelets[i.ID]; k != nil {
		k.on = made
	}
}

// Delete implements [provider.Session].
func (s hollowSession) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (done bool, err error) {
	var ids []string
	for _, i := range given {
		ids = append(ids, i.ID)
	}
	err = s.call(cloud.Call{Verb: "delete", Ref: ref, Given: ids}, func() (err error) {
		done, err = s.Session.Delete(ctx, ref, given)
		s.p.ended()
		return err
	})
	return done && err == nil, err
}

// ended shows the instances that are being terminated.
func (h *hollow) ended() {
	stays := map[string]bool{}
	for i, err := range h.own().List(context.Background()) {
		h.w.must("list instances", err)
		stays[i.ID] = i.State != provider.Stopping
	}
	for _, m := range h.w.cloud.Existing("") {
		if m.Gone().IsZero() && !stays[m.ID] {
			h.w.cloud.OnStop(m)
			h.w.cloud.Ends(m, h.w.now.Add(h.w.profile.cloud.Stop))
		}
	}
}

// List implements [provider.Session].
func (s hollowSession) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		if err := s.call(cloud.Call{Verb: "list"}, func() error { return nil }); err != nil {
			yield(provider.Instance{}, err)
			return
		}
		s.Session.List(ctx)(yield)
	}
}
