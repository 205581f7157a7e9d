package program

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestControllers(t *testing.T) {
	for _, c := range []struct {
		reason, args      string
		sets, deployments bool
		err               string
	}{
		{reason: "all by default", sets: true, deployments: true},
		{reason: "all, as the originals say it", args: "--controllers=*", sets: true, deployments: true},
		{reason: "one", args: "--controllers=machineset", sets: true},
		{reason: "the other", args: "--controllers=machinedeployment", deployments: true},
		{reason: "both by name", args: "--controllers=machineset,machinedeployment", sets: true, deployments: true},
		{reason: "none is known by this name", args: "--controllers=machineset,machine", err: `--controllers: unknown controller "machine": want machineset, machinedeployment, machinehealthcheck, nodelink or * for all but the last`},
	} {
		o := options{controllers: ControllerManager(nil).controllers}
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.addFlags(fs)
		if err := fs.Parse(strings.Fields(c.args)); err != nil {
			t.Fatal(err)
		}
		if err := o.check(); c.err != "" || err != nil {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %q: got %v, want %q", c.reason, c.args, err, c.err)
			}
			continue
		}
		if sets, deployments := o.runs(machineSets), o.runs(machineDeployments); sets != c.sets || deployments != c.deployments {
			t.Errorf("%s: %q: sets %v, deployments %v", c.reason, c.args, sets, deployments)
		}
	}
}

func TestScaleDownAnnotationFlag(t *testing.T) {
	for args, want := range map[string]bool{"": true, "--autoscaler-scaledown-annotation-during-rollout=false": false} {
		var o options
		fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
		o.addFlags(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil || o.stay != want {
			t.Errorf("%q: %v, %v; want %v", args, o.stay, err, want)
		}
	}
}
