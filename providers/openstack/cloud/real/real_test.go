package real_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/quotasets"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/openstack/cloud"
)

// world is a real OpenStack.
type world struct {
	t *testing.T
	// file is the clouds.yaml, project the account of the cloud "machines".
	file, project  string
	admin, compute *gophercloud.ServiceClient
	network        *gophercloud.ServiceClient
	cluster        string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	path := os.Getenv("OS_CLOUD_REAL")
	if path == "" {
		t.Skip("OS_CLOUD_REAL names no clouds.yaml: see hack/openstack")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, file: string(raw), cluster: fmt.Sprintf("c%d", time.Now().UnixNano()%1e9)}
	member, opts := w.open("machines")
	w.compute, w.network = must(openstack.NewComputeV2(member, opts))(t), must(openstack.NewNetworkV2(member, opts))(t)
	w.compute.Microversion = "2.53"
	admin, opts := w.open("admin")
	w.admin = must(openstack.NewComputeV2(admin, opts))(t)
	w.admin.Microversion = "2.53"
	w.project, err = w.session("net1").Account(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.quota(100, 200)
	return w
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w *world) open(name string) (*gophercloud.ProviderClient, gophercloud.EndpointOpts) {
	w.t.Helper()
	auth, endpoint, tls, err := clouds.Parse(clouds.WithCloudsYAML(strings.NewReader(w.file)), clouds.WithCloudName(name))
	if err != nil {
		w.t.Fatal(err)
	}
	auth.AllowReauth = true
	p, err := config.NewProviderClient(w.t.Context(), auth, config.WithTLSConfig(tls))
	if err != nil {
		w.t.Fatal(err)
	}
	return p, endpoint
}

func (w *world) quota(instances, cores int) {
	w.t.Helper()
	if w.project == "" {
		return
	}
	ram := 4096 * instances
	_, err := quotasets.Update(w.t.Context(), w.admin, w.project, quotasets.UpdateOpts{Instances: &instances, Cores: &cores, RAM: &ram}).Extract()
	if err != nil {
		w.t.Fatal(err)
	}
}

// spec is a class of the cluster of this test.
func (w *world) class(api, network string, more ...string) provider.Class {
	class := provider.Class{API: api, Cluster: w.cluster, Owner: "5f1c5b5e-5d0f-4b8e-9a60-0d7a3f6f2c11", Credentials: map[string][]byte{"clouds.yaml": []byte(w.file)}}
	if api == provider.Gardener {
		ids := must(networkID(w.t.Context(), w.network, network))(w.t)
		class.Spec = fmt.Appendf(nil, `{"spec":{"imageName":"rhcos","flavorName":"m1.test","region":"RegionOne","availabilityZone":"nova","keyName":"k","networkID":%q,`+
			`"podNetworkCIDRs":["100.96.0.0/11"],"tags":{"kubernetes.io-cluster-%s":"1","kubernetes.io-role-node":"1"}%s}}`, ids, w.cluster, strings.Join(more, ""))
		// The class does not name the cloud in the file: the file may only contain one.
		one, _, _ := strings.Cut(w.file, "  admin:")
		class.Credentials = map[string][]byte{"clouds.yaml": []byte(one)}
		return class
	}
	class.Spec = fmt.Appendf(nil, `{"cloudName":"machines","flavor":"m1.test","image":"rhcos","keyName":"k","networks":[{"filter":{"name":%q}}],`+
		`"securityGroups":[{"name":"default"}],"serverMetadata":{"Name":"worker"},"tags":["openshiftClusterID=%s"]%s}`, network, w.cluster, strings.Join(more, ""))
	return class
}

func (w *world) session(network string, more ...string) provider.Session {
	return w.openClass(w.class(provider.OpenShift, network, more...))
}

// openClass opens it in a new process.
func (w *world) openClass(class provider.Class) provider.Session {
	w.t.Helper()
	return must(cloud.New(cloud.Config{Clock: clock.RealClock{}}).Open(w.t.Context(), class))(w.t)
}

func ref(n int) provider.Ref {
	return provider.Ref{UID: fmt.Sprintf("0b2f6d3e-6b1c-4c56-9f1b-%012d", time.Now().UnixNano()%1e9*1000+int64(n)), Namespace: "openshift-machine-api", Name: fmt.Sprintf("m-%d", n)}
}

var errLate = errors.New("not within three minutes")

// until repeats look every second until it reports success.
func until(ctx context.Context, look func() (bool, error)) error {
	for range 180 {
		if ok, err := look(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return errLate
}

// create creates until there is an instance: it repeats after a Conflict.
func create(ctx context.Context, s provider.Session, r provider.Ref) (i provider.Instance, err error) {
	err = until(ctx, func() (bool, error) {
		var err error
		i, err = s.Create(ctx, r, provider.Want{UserData: []byte("#cloud-config\n")})
		if k := provider.KindOf(err); k == provider.Conflict || k == provider.Transient {
			return false, nil
		}
		return err == nil, err
	})
	return i, err
}

// running waits for the one instance of ref.
func running(ctx context.Context, s provider.Session, r provider.Ref) (i provider.Instance, err error) {
	err = until(ctx, func() (bool, error) {
		all, err := s.Find(ctx, r)
		if err != nil || len(all) == 0 {
			return false, err
		}
		if len(all) > 1 {
			return false, fmt.Errorf("%d instances", len(all))
		}
		if i = all[0]; i.Fault != nil {
			return false, i.Fault
		}
		return i.State == provider.Running, nil
	})
	if err != nil {
		err = fmt.Errorf("server %q is %s (%s): %w", i.ID, i.State, i.RawState, err)
	}
	return i, err
}

func remove(ctx context.Context, s provider.Session, r provider.Ref, given ...provider.Instance) error {
	return until(ctx, func() (bool, error) {
		done, err := s.Delete(ctx, r, given)
		if provider.KindOf(err) == provider.Transient {
			return false, nil
		}
		return done, err
	})
}

// nothing checks that no server and no port of the cluster exists, read around the provider.
func (w *world) nothing() {
	w.t.Helper()
	all := must(servers.ExtractServers(must(servers.List(w.compute, servers.ListOpts{}).AllPages(w.t.Context()))(w.t)))(w.t)
	for _, s := range all {
		if s.Metadata["millwright.dev-cluster"] == w.cluster {
			w.t.Errorf("server %s (%s) is left, %s", s.ID, s.Name, s.Status)
		}
	}
	for _, p := range w.ports() {
		w.t.Errorf("port %s (%s) is left: %s %q", p.ID, p.Name, p.Description, p.Tags)
	}
}

// ports are those of the cluster.
func (w *world) ports() []ports.Port {
	w.t.Helper()
	all := must(ports.ExtractPorts(must(ports.List(w.network, ports.ListOpts{}).AllPages(w.t.Context()))(w.t)))(w.t)
	return slices.DeleteFunc(all, func(p ports.Port) bool {
		return !strings.Contains(p.Description, "cluster="+w.cluster) && !slices.Contains(p.Tags, "openshiftClusterID="+w.cluster)
	})
}

// together runs do n times at the same time.
func together(n int, do func(n int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() { errs[k] = do(k) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// scheduling switches scheduling on or off: without it no server finds a host.
func (w *world) scheduling(on bool) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context()) // it is switched on again at the end of the test
	all := must(services.ExtractServices(must(services.List(w.admin, services.ListOpts{Binary: "nova-compute"}).AllPages(ctx))(w.t)))(w.t)
	status := services.ServiceDisabled
	if on {
		status = services.ServiceEnabled
	}
	for _, s := range all {
		if _, err := services.Update(ctx, w.admin, s.ID, services.UpdateOpts{Status: status}).Extract(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// fieldOf is the field in an error.
func fieldOf(err error) (string, bool) {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Invalid {
		return "", false
	}
	return e.Field, true
}
