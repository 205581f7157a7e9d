package start

import (
	"errors"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/millwright-dev/millwright/internal/operator"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

// TestLeaseTimes: section 8, which times of leader election hold where.
func TestLeaseTimes(t *testing.T) {
	scheme := run.Scheme()
	if err := operator.Scheme(scheme); err != nil {
		t.Fatal(err)
	}
	of := func(mode configv1.TopologyMode) client.Reader {
		i := &configv1.Infrastructure{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Status: configv1.InfrastructureStatus{ControlPlaneTopology: mode}}
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(i).Build()
	}
	usual, single := times{137 * time.Second, 107 * time.Second, 26 * time.Second}, times{270 * time.Second, 240 * time.Second, 60 * time.Second}
	for _, c := range []struct {
		reason string
		from   client.Reader
		want   times
	}{
		{"several nodes", of(configv1.HighlyAvailableTopologyMode), usual},
		{"one node", of(configv1.SingleReplicaTopologyMode), single},
		{"no object says so", fake.NewClientBuilder().WithScheme(scheme).Build(), usual},
		{"a cluster without that kind", fake.NewClientBuilder().WithScheme(run.Scheme()).Build(), usual},
	} {
		t.Run(c.reason, func(t *testing.T) {
			if got := timesOf(t.Context(), c.from); got != c.want {
				t.Errorf("%s: %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

// TestLease: the operator holds the lease of that name, for as long as its cluster asks for.
func TestLease(t *testing.T) {
	for mode, want := range map[configv1.TopologyMode]int32{configv1.HighlyAvailableTopologyMode: 137, configv1.SingleReplicaTopologyMode: 270} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBox(t)
			b.openshift()
			i := b.infrastructure(configv1.AWSPlatformType)
			i.Status.ControlPlaneTopology = mode
			b.must(b.Status().Update(t.Context(), i))
			b.start(nil)
			b.within(20*time.Second, "the lease", func() error {
				var l coordinationv1.Lease
				if err := b.Get(t.Context(), client.ObjectKey{Namespace: home, Name: "machine-api-operator"}, &l); err != nil {
					return err
				}
				if ptr.Deref(l.Spec.HolderIdentity, "") == "" || ptr.Deref(l.Spec.LeaseDurationSeconds, 0) != want {
					return errors.New(l.Spec.String())
				}
				return nil
			})
		})
	}
}
