package sim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/controller/csr"
	"github.com/millwright-dev/millwright/internal/engine/approval"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
)

// certificateSetting makes worlds in which kubelets and other clients request certificates.
func certificateSetting(c *profile) {
	c.wider = wider{certificateProfile: certificateProfile{certified: true}, trouble: 30}
	c.deployments, c.sets, c.singles, c.apps, c.tokens = 0, 2, 2, 0, true
	c.percent[apiLate] = 0
}

// certificateMutants are defects that show only when a client requests the certificate of another node.
func certificateMutants() []Mutation {
	return []Mutation{
		{
			Name: "a token is good for any machine", Finds: []string{judge.CertOwn}, Setting: certificateSetting,
			Approver: func(a *csr.Approver) { a.Live = tokensWithoutOwner{a.Live} },
		},
		{
			Name: "a machine on its way out may join", Finds: []string{judge.CertOwn}, Setting: leaving,
			Approver: known(func(m *approval.Machine) { m.Deleting = false }),
		},
		{
			Name: "a machine may join twice", Finds: []string{judge.CertOwn}, Setting: rejoinSetting,
			Approver: known(func(m *approval.Machine) { m.Linked = false }),
		},
		{
			Name: "a certificate is granted by what a cache shows", Finds: []string{judge.CertOwn}, Setting: behind,
			Approver: func(a *csr.Approver) {
				a.Latest = func(_ context.Context, shown approval.Machine) (approval.Machine, bool, error) {
					return shown, true, nil
				}
			},
		},
		{
			Name: "a token is left to its expiration", Finds: []string{judge.TokenEnds}, Setting: certificateSetting,
			Client: func(c client.Client, live client.Reader) (client.Client, client.Reader) { return secretKeeper{c}, live },
		},
	}
}

// leaving makes worlds in which machines are deleted while their kubelets request certificates.
func leaving(c *profile) {
	certificateSetting(c)
	c.cloud.Stop = time.Minute
}

// behind makes worlds in which the caches show such deletions late.
func behind(c *profile) {
	leaving(c)
	c.leakedBootstrapper, c.stalls, c.viewLag, c.cloud.Boot = true, true, 30*time.Second, 0
}

// rejoinSetting makes worlds in which attackers delete their Nodes and request certificates of any node.
func rejoinSetting(c *profile) {
	certificateSetting(c)
	c.hostile, c.unrestricted, c.leakedBootstrapper, c.trouble = true, true, true, 60
	c.sets, c.cloud.Boot = 0, 0
}

// known changes the approver's facts about machines.
func known(edit func(*approval.Machine)) func(*csr.Approver) {
	return func(a *csr.Approver) {
		all := a.Machines
		a.Machines = func(ctx context.Context, s approval.Subject) ([]approval.Machine, error) {
			out, err := all(ctx, s)
			for i := range out {
				edit(&out[i])
			}
			return out, err
		}
		latest := a.Latest
		a.Latest = func(ctx context.Context, shown approval.Machine) (approval.Machine, bool, error) {
			m, there, err := latest(ctx, shown)
			edit(&m)
			return m, there, err
		}
	}
}

// tokensWithoutOwner hides from each token the machine that it was created for.
type tokensWithoutOwner struct{ client.Reader }

// Get implements [client.Reader].
func (r tokensWithoutOwner) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := r.Reader.Get(ctx, key, o, opts...)
	if s, is := o.(*corev1.Secret); is {
		s.Annotations = nil
	}
	return err
}

// secretKeeper deletes no secrets.
type secretKeeper struct{ client.Client }

// Delete implements [client.Writer].
func (c secretKeeper) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, is := o.(*corev1.Secret); is {
		return nil
	}
	return c.Client.Delete(ctx, o, opts...)
}
