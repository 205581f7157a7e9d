package serve

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/adapters/openshift"
	"github.com/millwright-dev/millwright/serve"
)

// TestActuatorTakesTheOriginalsFlags: so that a Deployment only has to change its image.
func TestActuatorTakesTheOriginalsFlags(t *testing.T) {
	own := ""
	p := plugin(nil, Name("shelf"), Flags(func(fs *pflag.FlagSet) { fs.StringVar(&own, "shelf-endpoint", "", "") }))
	c := serve.Command(p)
	if c.Name() != "machine-controller-shelf" {
		t.Errorf("the program is called %s", c.Name())
	}
	if got := c.Flags().Lookup("apis").DefValue; got != "[machine.openshift.io]" {
		t.Errorf("under whatever name, it serves %s", got)
	}
	err := c.ParseFlags(strings.Fields(`--logtostderr=true --v=3 --leader-elect=true --leader-elect-lease-duration=120s
		--leader-elect-resource-namespace=openshift-machine-api --namespace=openshift-machine-api --metrics-bind-address=:8081
		--health-addr=:9440 --max-concurrent-reconciles=10 --shelf-endpoint=x`))
	if err != nil || own != "x" {
		t.Errorf("its command line: %v, and %q of its own", err, own)
	}
}

// TestActuatorIsMadeOnceFlagsAreKnown: with a client, after the flags are validated.
func TestActuatorIsMadeOnceFlagsAreKnown(t *testing.T) {
	odd := errors.New("no such shelf")
	for _, c := range []struct {
		reason, args, want string
		fails              error
	}{
		{"the defaults", "", "", nil},
		{"no lag", "--actuator-read-lag=0", "--actuator-read-lag: must be more than 0, is 0s", nil},
		{"less than no time", "--actuator-call-timeout=-1s", "--actuator-call-timeout: must be more than 0, is -1s", nil},
		{"the actuator objects", "", odd.Error(), odd},
	} {
		control, asked := &rest.Config{}, 0
		p := plugin(func(e Env) (openshift.Actuator, error) {
			if asked++; e.Control != control || e.Client == nil {
				t.Errorf("%s: it is made with %+v", c.reason, e)
			}
			return nil, c.fails
		}, Name("shelf"))
		if err := serve.Command(p).ParseFlags(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		made, err := p.New(t.Context(), serve.Env{Control: control, Clock: clock.RealClock{}})
		if got := text(err); got != c.want {
			t.Errorf("%s: error %q, want %q", c.reason, got, c.want)
		}
		if err == nil && (made.Name() != "shelf" || asked != 1) {
			t.Errorf("%s: provider %s, made %d times", c.reason, made.Name(), asked)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
