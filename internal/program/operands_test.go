package program

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	"github.com/spf13/pflag"

	"github.com/millwright-dev/millwright/internal/operator/operands"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/provider"
	serving "github.com/millwright-dev/millwright/serve"
)

// TestOperandsStart: the programs take every argument that the operator gives them, on every platform, in OpenShift and elsewhere.
func TestOperandsStart(t *testing.T) {
	images := operands.Images{"machineAPIOperator": "a", "kubeRBACProxy": "b"}
	platforms := []string{"AWS", "Azure", "GCP", "BareMetal", "IBMCloud", "Nutanix", "OpenStack", "PowerVS", "VSphere"}
	for _, name := range platforms {
		images["clusterAPIController"+name] = "c"
	}
	for _, name := range append(platforms, "kubemark") {
		platform, err := operands.PlatformOf(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, plain := range []*operands.Plain{nil, {ClusterID: "c"}} {
			o, err := operands.Render(operands.Facts{
				Namespace: "n", Platform: platform, Images: images, TLS: operands.Intermediate(), Gates: operands.DefaultGates(), Plain: plain,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range o.Controllers.Spec.Template.Spec.Containers {
				if len(c.Command) > 0 {
					t.Run(name+c.Command[0], func(t *testing.T) { accepts(t, c.Command[0], c.Args) })
				}
			}
		}
	}
}

// TestOperandsTakeEveryProfile: the programs know every version and suite that the operator names for a profile of the cluster.
func TestOperandsTakeEveryProfile(t *testing.T) {
	platform, err := operands.PlatformOf("BareMetal")
	if err != nil {
		t.Fatal(err)
	}
	images := operands.Images{"machineAPIOperator": "a", "kubeRBACProxy": "b", "clusterAPIControllerBareMetal": "c"}
	all := &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{MinTLSVersion: configv1.VersionTLS11}}
	for _, known := range configv1.TLSProfiles {
		all.Ciphers = append(all.Ciphers, known.Ciphers...)
	}
	for _, profile := range []configv1.TLSSecurityProfile{
		{Type: configv1.TLSProfileOldType}, {Type: configv1.TLSProfileIntermediateType}, {Type: configv1.TLSProfileModernType}, {Type: configv1.TLSProfileCustomType, Custom: all},
	} {
		asked := operands.TLSOf(configv1.APIServerSpec{TLSAdherence: configv1.TLSAdherencePolicyStrictAllComponents, TLSSecurityProfile: &profile})
		o, err := operands.Render(operands.Facts{Namespace: "n", Platform: platform, Images: images, TLS: asked, Gates: operands.DefaultGates()})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range o.Controllers.Spec.Template.Spec.Containers {
			if len(c.Command) > 0 {
				t.Run(string(profile.Type)+c.Command[0], func(t *testing.T) { accepts(t, c.Command[0], c.Args) })
			}
		}
	}
}

// accepts parses args as the program of that name does, with what is checked before it begins.
func accepts(t *testing.T, program string, args []string) {
	t.Helper()
	p, known := map[string]Program{"/machineset-controller": SetController(nil), "/nodelink-controller": NodeLink(), "/machine-healthcheck": HealthCheck()}[program]
	if program == "/machine-controller-manager" {
		if err := serving.Command(serving.Plugin{Name: "any"}).ParseFlags(args); err != nil {
			t.Error(err)
		}
		return
	}
	if !known {
		t.Fatalf("no program is called %s", program)
	}
	var flags run.Flags
	o := options{controllers: p.controllers}
	fs := pflag.NewFlagSet(program, pflag.ContinueOnError)
	flags.AddFlags(fs, run.PlaceOf(p.name, false, port))
	run.AddLogFlags(fs)
	o.addFlags(fs)
	o.webhooks.addFlags(fs, p.webhooks)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := flags.Complete(); err != nil {
		t.Error(err)
	}
	if err := o.check(); err != nil {
		t.Error(err)
	}
	if !flags.Serves(provider.OpenShift) || !flags.Election.Enabled {
		t.Errorf("serves %v", flags.APIs)
	}
}
