package servertest

import (
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/demo/devplane/devplanetest"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// A cache waits forever for kinds that it may not list. Package lens nevertheless reads clusters through the caches of the
// managers. It gets an answer immediately if the kind is not installed, and stops waiting soon if the kind may not be read.
func TestClustersNeverHoldAWorker(t *testing.T) {
	c, namespace := connect(t)
	cluster := manifest(t, namespace, earlyCluster)
	cluster.SetName("blue")
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	installed := func(s *runtime.Scheme) error { return v1beta1.AddToScheme(s) }
	absent := func(s *runtime.Scheme) error {
		s.AddKnownTypes(schema.GroupVersion{Group: v1beta1.GroupName, Version: "v0"}, &v1beta1.Cluster{}, &v1beta1.ClusterList{})
		return nil
	}
	tests := map[string]struct {
		reason string
		kinds  func(*runtime.Scheme) error
		user   string
		within time.Duration
		spec   string
		fails  bool
	}{
		"installed":     {"its value is laid beneath", installed, "", 2 * time.Second, `{"region":"north","size":3}`, false},
		"not installed": {"no such kind, no such object", absent, "", time.Second, `{"size":3}`, false},
		"not allowed":   {"an unreadable kind is not treated as absent", installed, "unknown", 5 * time.Second, `{"size":3}`, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			resolver := openshift.Resolver{Reader: c, Clusters: cacheOf(t, tc.kinds, tc.user)}
			m := &machinev1beta1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "m"}}
			m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(`{"size":3}`)}
			begun := time.Now()
			class, err := resolver.Class(t.Context(), m)
			if (err != nil) != tc.fails || string(class.Spec) != tc.spec {
				t.Errorf("%s: spec %s, error %v", tc.reason, class.Spec, err)
			}
			if took := time.Since(begun); took > tc.within {
				t.Errorf("took %v", took)
			}
		})
	}
}

// cacheOf returns a running cache of a manager that acts as the user.
func cacheOf(t *testing.T, kinds func(*runtime.Scheme) error, user string) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kinds(scheme); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(devplanetest.Start(t).Config)
	config.Impersonate.UserName = user
	c, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	devplanetest.Run(t, c.Start)
	if !c.WaitForCacheSync(t.Context()) {
		t.Fatal("the cache does not start")
	}
	return c
}
