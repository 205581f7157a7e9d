package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/gardener"
	"github.com/millwright-dev/millwright/serve"
)

// TestDriverTakesTheOriginalsFlags: section 6.3 of the Gardener notes, so that a Deployment only has to
// change its image.
func TestDriverTakesTheOriginalsFlags(t *testing.T) {
	own := ""
	p := plugin(nil, Name("shelf"), Flags(func(fs *pflag.FlagSet) { fs.StringVar(&own, "shelf-endpoint", "", "") }))
	c := serve.Command(p)
	if c.Name() != "machine-controller-shelf" {
		t.Errorf("the program is called %s", c.Name())
	}
	if got := c.Flags().Lookup("apis").DefValue; got != "[machine.sapcloud.io]" {
		t.Errorf("under whatever name, it serves %s", got)
	}
	err := c.ParseFlags(strings.Fields(`
		--control-kubeconfig=inClusterConfig --target-kubeconfig=/etc/kubeconfig --namespace=shoot--a--b --port=10259 --machine-creation-timeout=20m
		--machine-drain-timeout=2h --machine-health-timeout=10m --machine-inplace-update-timeout=20m --machine-max-evict-retries=360
		--machine-pv-detach-timeout=2m --machine-pv-reattach-timeout=90s --machine-preserve-timeout=96h
		--machine-safety-apiserver-statuscheck-timeout=30s --machine-safety-apiserver-statuscheck-period=1m --machine-safety-orphan-vms-period=30m
		--node-conditions=KernelDeadlock --bootstrap-token-auth-extra-groups=g --resource-exhausted-retry=10m --cloud-provider=x
		--concurrent-syncs=50 --min-resync-period=12h --profiling --contention-profiling --kube-api-content-type=application/json --kube-api-qps=20
		--kube-api-burst=30 --controller-start-interval=0s --leader-elect --leader-elect-lease-duration=15s --leader-elect-renew-deadline=10s
		--leader-elect-retry-period=2s --leader-elect-resource-lock=leases --address=0.0.0.0 --v=3 --shelf-endpoint=x`))
	if err != nil || own != "x" {
		t.Errorf("its command line: %v, and %q of its own", err, own)
	}
}

// TestDriverIsMadeOnceFlagsAreKnown: after the flags are validated.
func TestDriverIsMadeOnceFlagsAreKnown(t *testing.T) {
	odd := errors.New("no such shelf")
	for _, c := range []struct {
		reason, args, want string
		fails              error
	}{
		{"the defaults", "", "", nil},
		{"no lag", "--driver-read-lag=0", "--driver-read-lag: must be more than 0, is 0s", nil},
		{"less than no time", "--driver-call-timeout=-1s", "--driver-call-timeout: must be more than 0, is -1s", nil},
		{"no patience", "--driver-removal-patience=0", "--driver-removal-patience: must be more than 0, is 0s", nil},
		{"the driver objects", "", odd.Error(), odd},
	} {
		asked := []*rest.Config(nil)
		p := plugin(func(e Env) (gardener.Driver, error) {
			asked = append(asked, e.Control)
			return nil, c.fails
		}, Name("shelf"))
		if err := serve.Command(p).ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		control := &rest.Config{}
		made, err := p.New(t.Context(), serve.Env{Control: control, Clock: clock.RealClock{}})
		if got := text(err); got != c.want {
			t.Errorf("%s: error %q, want %q", c.reason, got, c.want)
		}
		if err == nil && (made.Name() != "shelf" || !slices.Equal(asked, []*rest.Config{control})) {
			t.Errorf("%s: provider %s, made with %v", c.reason, made.Name(), asked)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
