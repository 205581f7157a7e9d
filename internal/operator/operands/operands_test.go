package operands

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func images(t *testing.T) Images {
	t.Helper()
	out, err := ParseImages("f", []byte(`{"machineAPIOperator": "mao", "kubeRBACProxy": "rbac", "clusterAPIControllerAWS": "aws", "clusterAPIControllerAzure": "azure",
		"clusterAPIControllerGCP": "gcp", "clusterAPIControllerBareMetal": "metal", "clusterAPIControllerVSphere": "mao", "clusterAPIControllerOpenStack": "stack"}`))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func facts(t *testing.T, platform string) Facts {
	t.Helper()
	p, err := PlatformOf(platform)
	if err != nil {
		t.Fatal(err)
	}
	return Facts{Namespace: "ns", Platform: p, Images: images(t), TLS: Intermediate(), Gates: DefaultGates(), Release: "4.2"}
}

func render(t *testing.T, f Facts) Operands {
	t.Helper()
	out, err := Render(f)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func container(t *testing.T, o Operands, name string) corev1.Container {
	t.Helper()
	all := o.Controllers.Spec.Template.Spec.Containers
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no container %s", name)
	}
	return all[i]
}

// TestImages: section 7.2, and bad input that names its field.
func TestImages(t *testing.T) {
	for name, c := range map[string]struct{ raw, want string }{
		"no operator": {`{"kubeRBACProxy": "x"}`, `images file f: key "machineAPIOperator" is required and has no image`},
		"empty proxy": {`{"machineAPIOperator": "x", "kubeRBACProxy": " "}`, `images file f: key "kubeRBACProxy" is required and has no image`},
		"no object":   {`[]`, "images file f: want an object of texts"},
	} {
		_, err := ParseImages("f", []byte(c.raw))
		var fault *FaultError
		if !errors.As(err, &fault) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	for _, name := range []string{"None", "External", "Libvirt", "oVirt", "KubeVirt", "EquinixMetal", "AlibabaCloud"} {
		if !facts(t, name).Platform.NoOp() {
			t.Errorf("%s has operands", name)
		}
	}
	if _, err := PlatformOf("Moon"); err == nil || !strings.Contains(err.Error(), `"Moon"`) {
		t.Errorf("an unknown platform: %v", err)
	}
	if _, err := Render(facts(t, "Nutanix")); err == nil || !strings.Contains(err.Error(), `"clusterAPIControllerNutanix" is required`) {
		t.Errorf("a platform without an image: %v", err)
	}
	if got := container(t, render(t, facts(t, "kubemark")), "machine-controller").Image; got != "docker.io/gofed/kubemark-machine-controllers:v1.0" {
		t.Errorf("kubemark runs %s", got)
	}
}

// TestControllers: the table of section 7.5.
func TestControllers(t *testing.T) {
	o := render(t, facts(t, "AWS"))
	common := []string{"--logtostderr=true", "--v=3", "--leader-elect=true", "--leader-elect-lease-duration=120s", "--namespace=ns"}
	const gates = "--feature-gates=AWSDedicatedHosts=false,AzureWorkloadIdentity=true,MachineAPIMigration=false,VSphereHostVMGroupZonal=true"
	tls := Intermediate().args()
	if len(tls) != 2 || tls[1] != "--tls-min-version=VersionTLS12" || !strings.Contains(tls[0], "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256") {
		t.Errorf("TLS args %v", tls)
	}
	proxy := func(listen, up string) []string {
		return append([]string{
			"--secure-listen-address=0.0.0.0:" + listen, "--upstream=http://localhost:" + up, "--config-file=/etc/kube-rbac-proxy/config-file.yaml",
			"--tls-cert-file=/etc/tls/private/tls.crt", "--tls-private-key-file=/etc/tls/private/tls.key", "--logtostderr=true", "--v=3",
		}, tls...)
	}
	for name, c := range map[string]struct {
		image, command string
		args           []string
		ports          map[string]int32
		startup        bool
	}{
		"machineset-controller":           {"mao", "/machineset-controller", slices.Concat(common, []string{"--metrics-bind-address=localhost:8082", "--object-metrics=false", gates}, tls), map[string]int32{"webhook-server": 8443, "healthz": 9441}, true},
		"machine-controller":              {"aws", "/machine-controller-manager", append(slices.Clone(common), gates), map[string]int32{"machine-webhook": 8440, "healthz": 9440}, false},
		"nodelink-controller":             {"mao", "/nodelink-controller", common, nil, false},
		"machine-healthcheck-controller":  {"mao", "/machine-healthcheck", slices.Concat(common, []string{"--metrics-bind-address=localhost:8083"}), map[string]int32{"healthz": 9442}, false},
		"kube-rbac-proxy-machineset-mtrc": {"rbac", "", proxy("8442", "8082"), map[string]int32{"machineset-mtrc": 8442}, false},
		"kube-rbac-proxy-machine-mtrc":    {"rbac", "", proxy("8441", "8081"), map[string]int32{"machine-mtrc": 8441}, false},
		"kube-rbac-proxy-mhc-mtrc":        {"rbac", "", proxy("8444", "8083"), map[string]int32{"mhc-mtrc": 8444}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := container(t, o, name)
			if got.Image != c.image || strings.Join(got.Command, " ") != c.command {
				t.Errorf("runs %s %v", got.Image, got.Command)
			}
			if !slices.Equal(got.Args, c.args) {
				t.Errorf("args\n%v\nwant\n%v", got.Args, c.args)
			}
			ports := map[string]int32{}
			for _, p := range got.Ports {
				ports[p.Name] = p.ContainerPort
			}
			if len(ports) != len(c.ports) {
				t.Errorf("ports %v, want %v", ports, c.ports)
			}
			for n, p := range c.ports {
				if ports[n] != p {
					t.Errorf("ports %v, want %v", ports, c.ports)
				}
			}
			_, probed := c.ports["healthz"]
			if (got.StartupProbe != nil) != c.startup || (got.ReadinessProbe != nil) != probed || (got.LivenessProbe != nil) != probed {
				t.Fatalf("probes %v %v %v", got.StartupProbe, got.ReadinessProbe, got.LivenessProbe)
			}
			if probed && (got.ReadinessProbe.HTTPGet.Path != "/readyz" || got.LivenessProbe.HTTPGet.Path != "/healthz" || got.LivenessProbe.HTTPGet.Port != intstr.FromString("healthz")) {
				t.Errorf("probes are swapped: %v %v", got.ReadinessProbe, got.LivenessProbe)
			}
			if r := got.Resources; r.Requests.Cpu().String() != "10m" || r.Requests.Memory().String() != "20Mi" || len(r.Limits) > 0 {
				t.Errorf("resources %v", r)
			}
		})
	}
	if n := len(o.Controllers.Spec.Template.Spec.Containers); n != 7 {
		t.Errorf("%d containers", n)
	}
}

// TestFactsShow: what each fact changes.
func TestFactsShow(t *testing.T) {
	f := facts(t, "Azure")
	f.Proxy = Proxy{HTTP: "http://p", No: "x"}
	f.TrustedCA = "abc"
	f.Gates["MachineAPIOperatorDisableMachineHealthCheckController"] = true
	o := render(t, f)
	if got := container(t, o, "machine-controller").Args; !slices.Contains(got, "--max-concurrent-reconciles=10") {
		t.Errorf("Azure: %v", got)
	}
	for _, c := range o.Controllers.Spec.Template.Spec.Containers {
		if strings.Contains(c.Name, "health") || strings.Contains(c.Name, "mhc") {
			t.Errorf("%s is there although the gate is on", c.Name)
		}
		proxied := slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "HTTP_PROXY" && v.Value == "http://p" })
		if proxied == strings.HasPrefix(c.Name, "kube-rbac-proxy-") {
			t.Errorf("%s: environment %v", c.Name, c.Env)
		}
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == "HTTPS_PROXY" }) {
			t.Errorf("%s has an empty proxy", c.Name)
		}
	}
	key := hashKey("ns.mao-trusted-ca.configmap")
	if o.Controllers.Annotations[key] != "abc" || o.Controllers.Spec.Template.Annotations[key] != "abc" || len(key) != 63 {
		t.Errorf("hash of the CA under %s: %v", key, o.Controllers.Annotations)
	}
	metal := render(t, facts(t, "BareMetal"))
	if got := container(t, metal, "machine-controller").Args; !slices.Contains(got, "--tls-min-version=VersionTLS12") || metal.Termination != nil {
		t.Errorf("BareMetal: %v", got)
	}
	remediation(t, metal)
	if d := render(t, facts(t, "GCP")).Termination; d == nil || d.Namespace != "ns" || d.Spec.Template.Spec.Containers[0].Image != "gcp" {
		t.Errorf("GCP: %v", d)
	}
	if o := render(t, facts(t, "AWS")); o.Mutating.Annotations[injectCA] != "true" || o.Validating.Webhooks[0].ClientConfig.Service.Namespace != "ns" {
		t.Errorf("webhooks: %v", o.Mutating)
	}
	f = facts(t, vSphere)
	if o := render(t, f); len(o.Policies) != 0 {
		t.Errorf("policies without the gate: %v", o.Policies)
	}
	f.Gates[gateManyCenters] = true
	if o := render(t, f); len(o.Policies) != 4 {
		t.Errorf("%d policies and bindings without ControlPlaneMachineSets", len(o.Policies))
	}
	f.ControlPlaneSets = true
	if o := render(t, f); len(o.Policies) != 6 {
		t.Errorf("%d policies and bindings", len(o.Policies))
	}
}

// remediation: the webhooks of metal3's requests are those of section 6.1, on BareMetal alone and where there is a service CA.
func remediation(t *testing.T, metal Operands) {
	t.Helper()
	want := []string{
		"validation.metal3remediation.k8s.io /validate-infrastructure-cluster-x-k8s-io-v1beta1-metal3remediation metal3remediations",
		"validation.metal3remediationtemplate.k8s.io /validate-infrastructure-cluster-x-k8s-io-v1beta1-metal3remediationtemplate metal3remediationtemplates",
		"default.metal3remediation.k8s.io /mutate-infrastructure-cluster-x-k8s-io-v1beta1-metal3remediation metal3remediations",
		"default.metal3remediationtemplate.k8s.io /mutate-infrastructure-cluster-x-k8s-io-v1beta1-metal3remediationtemplate metal3remediationtemplates",
	}
	var got []string
	add := func(name string, call admissionregistrationv1.WebhookClientConfig, policy *admissionregistrationv1.FailurePolicyType, r []admissionregistrationv1.RuleWithOperations) {
		got = append(got, name+" "+*call.Service.Path+" "+r[0].Resources[0])
		if call.Service.Namespace != "ns" || call.Service.Name != "machine-api-operator-machine-webhook" || *policy != admissionregistrationv1.Ignore ||
			len(r[0].Operations) != 2 || r[0].APIGroups[0] != "infrastructure.cluster.x-k8s.io" {
			t.Errorf("%s: called at %v with %v", name, call.Service, r)
		}
	}
	r := metal.Remediation
	for _, h := range r.Validating.Webhooks {
		add(h.Name, h.ClientConfig, h.FailurePolicy, h.Rules)
	}
	for _, h := range r.Mutating.Webhooks {
		add(h.Name, h.ClientConfig, h.FailurePolicy, h.Rules)
	}
	if r.Validating.Name != RemediationName || r.Mutating.Name != RemediationName || r.Validating.Annotations[injectCA] != "true" || r.Mutating.Annotations[injectCA] != "true" {
		t.Errorf("configurations %v and %v", r.Validating.ObjectMeta, r.Mutating.ObjectMeta)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhooks of remediation (-want +got):\n%s", diff)
	}
	plain := facts(t, "BareMetal")
	plain.Plain = &Plain{}
	for _, f := range []Facts{plain, facts(t, "AWS")} {
		if got := render(t, f).Remediation; got != nil {
			t.Errorf("%s, without a service CA %v: %v", f.Platform.name, f.Plain != nil, got)
		}
	}
}

// TestPlain: a cluster without config.openshift.io has no service CA and no master nodes, and flags say to
// its programs where they run.
func TestPlain(t *testing.T) {
	f := facts(t, "OpenStack")
	f.Plain = &Plain{ClusterID: "c-1"}
	o := render(t, f)
	pod := o.Controllers.Spec.Template.Spec
	if pod.NodeSelector != nil || o.Mutating.Annotations != nil {
		t.Errorf("node selector %v, annotations %v", pod.NodeSelector, o.Mutating.Annotations)
	}
	if got := container(t, o, "machineset-controller").Args; !slices.Contains(got, "--platform=OpenStack") || !slices.Contains(got, "--infrastructure-id=c-1") {
		t.Errorf("args %v", got)
	}
	if got := container(t, o, "machine-controller").Args; !slices.Contains(got, "--cluster-id=c-1") {
		t.Errorf("args %v", got)
	}
	if c := container(t, o, "kube-rbac-proxy-mhc-mtrc"); strings.Contains(strings.Join(c.Args, " "), "--tls-cert-file") || len(c.VolumeMounts) != 1 {
		t.Errorf("proxy %v %v", c.Args, c.VolumeMounts)
	}
	for _, v := range pod.Volumes {
		if v.Secret != nil && (v.Secret.Optional == nil || !*v.Secret.Optional) {
			t.Errorf("volume %s has to be there", v.Name)
		}
	}
}

// TestTLS: section 7.5, the profile of the API server.
func TestTLS(t *testing.T) {
	old := &configv1.TLSSecurityProfile{Type: configv1.TLSProfileOldType}
	custom := &configv1.TLSSecurityProfile{Type: configv1.TLSProfileCustomType, Custom: &configv1.CustomTLSProfile{TLSProfileSpec: configv1.TLSProfileSpec{
		MinTLSVersion: configv1.VersionTLS11, Ciphers: []string{"ECDHE-RSA-AES128-SHA", "DHE-RSA-AES128-GCM-SHA256"},
	}}}
	for name, c := range map[string]struct {
		reason string
		in     configv1.APIServerSpec
		want   string
		suites int
	}{
		"nothing":       {"no opinion", configv1.APIServerSpec{}, "VersionTLS12", 9},
		"no opinion":    {"the profile is not for us", configv1.APIServerSpec{TLSSecurityProfile: old}, "VersionTLS12", 9},
		"legacy":        {"the profile is not for us", configv1.APIServerSpec{TLSSecurityProfile: old, TLSAdherence: configv1.TLSAdherencePolicyLegacyAdheringComponentsOnly}, "VersionTLS12", 9},
		"strict":        {"it is", configv1.APIServerSpec{TLSSecurityProfile: old, TLSAdherence: configv1.TLSAdherencePolicyStrictAllComponents}, "VersionTLS10", 21},
		"strict custom": {"what programs do not have is left out", configv1.APIServerSpec{TLSSecurityProfile: custom, TLSAdherence: configv1.TLSAdherencePolicyStrictAllComponents}, "VersionTLS11", 1},
		"strict, none":  {"Intermediate is the default", configv1.APIServerSpec{TLSAdherence: configv1.TLSAdherencePolicyStrictAllComponents}, "VersionTLS12", 9},
		"later policy":  {"what is not known is strict", configv1.APIServerSpec{TLSSecurityProfile: old, TLSAdherence: "Tomorrow"}, "VersionTLS10", 21},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TLSOf(c.in); got.MinVersion != c.want || len(got.Suites) != c.suites {
				t.Errorf("%s: %s: %v, want %s and %d", name, c.reason, got, c.want, c.suites)
			}
		})
	}
}

// TestProxyTLS: kube-rbac-proxy exits at once if a profile has none of the suites that HTTP/2 requires,
// unless HTTP/2 is disabled.
func TestProxyTLS(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		profile TLS
		want    bool
	}{
		"intermediate": {"it has both suites", Intermediate(), false},
		"one suite":    {"one is enough", TLS{"VersionTLS12", []string{"TLS_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}}, false},
		"other suites": {"HTTP/2 demands others", TLS{"VersionTLS12", []string{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}}, true},
		"of TLS 1.3":   {"those of 1.3 are of no use to a client that speaks 1.2", TLS{"VersionTLS12", []string{"TLS_AES_128_GCM_SHA256"}}, true},
		"modern":       {"TLS 1.3 has its own", TLS{"VersionTLS13", []string{"TLS_AES_256_GCM_SHA384"}}, false},
		"no suites":    {"the proxy has its own", TLS{"VersionTLS12", nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(t, "AWS")
			f.TLS = c.profile
			o := render(t, f)
			if got := slices.Contains(container(t, o, "kube-rbac-proxy-machine-mtrc").Args, "--http2-disable"); got != c.want {
				t.Errorf("%s: %s: told to do without HTTP/2: %t", name, c.reason, got)
			}
			if slices.Contains(container(t, o, "machineset-controller").Args, "--http2-disable") {
				t.Errorf("%s: machineset-controller has no such flag", name)
			}
		})
	}
}

// TestGates: section 7.7.
func TestGates(t *testing.T) {
	g := &configv1.FeatureGate{}
	g.Name = "cluster"
	g.Status.FeatureGates = []configv1.FeatureGateDetails{{Version: "4.2", Enabled: []configv1.FeatureGateAttributes{{Name: "MachineAPIMigration"}}, Disabled: []configv1.FeatureGateAttributes{{Name: "AzureWorkloadIdentity"}}}}
	got, err := GatesOf(g, "4.2")
	if err != nil || got.arg() != "--feature-gates=AWSDedicatedHosts=false,AzureWorkloadIdentity=false,MachineAPIMigration=true,VSphereHostVMGroupZonal=true" {
		t.Errorf("%s, %v", got.arg(), err)
	}
	if _, err := GatesOf(g, "4.3"); err == nil || !strings.Contains(err.Error(), `no version "4.3"`) {
		t.Errorf("a release without gates: %v", err)
	}
	if got, err := GatesOf(g, ""); err != nil || !got["MachineAPIMigration"] {
		t.Errorf("no release: %v, %v", got, err)
	}
}
