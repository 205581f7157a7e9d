// Package operands decides which objects the operator runs in a cluster: it writes the cluster's facts into
// the manifests of config/operator/operands. It does no I/O (section 7 of the OpenShift notes in
// docs/originals).
package operands

import (
	"cmp"
	"crypto/tls"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
)

// Facts are the facts that operands depend on.
type Facts struct {
	Namespace string
	Platform  Platform
	Images    Images
	Proxy     Proxy
	TLS       TLS
	Gates     Gates
	// TrustedCA is the hash of the ConfigMap [TrustedCAConfigMap]; empty: it does not exist.
	TrustedCA string
	// Release is the version of the payload; empty: unknown.
	Release string
	// ControlPlaneSets: the cluster has ControlPlaneMachineSets (machine.openshift.io/v1).
	ControlPlaneSets bool
	// Plain are the facts of a cluster without config.openshift.io; nil: it has that.
	Plain *Plain
}

// Plain is a cluster that has no service CA, no node role "master", and no Infrastructure that programs could ask.
type Plain struct {
	// ClusterID is the cluster's name at its infrastructure; may be empty.
	ClusterID string
}

// TrustedCAConfigMap has the bundle that programs trust besides their own.
const TrustedCAConfigMap = "mao-trusted-ca"

// Proxy is how programs reach the infrastructure; empty values are left out.
type Proxy struct{ HTTP, HTTPS, No string }

// ProxyOf reads the cluster's proxy, as it was accepted into its status.
func ProxyOf(p *configv1.Proxy) Proxy {
	return Proxy{HTTP: p.Status.HTTPProxy, HTTPS: p.Status.HTTPSProxy, No: p.Status.NoProxy}
}

// TLS is the minimum that ports accept: names as the flags --tls-min-version and --tls-cipher-suites take
// them.
type TLS struct {
	MinVersion string
	Suites     []string
}

// Intermediate is the default profile.
func Intermediate() TLS { return profile(*configv1.TLSProfiles[configv1.TLSProfileIntermediateType]) }

// TLSOf is the profile of the cluster's API server if every component has to adhere to it, else
// Intermediate.
func TLSOf(s configv1.APIServerSpec) TLS {
	switch s.TLSAdherence {
	case configv1.TLSAdherencePolicyNoOpinion, configv1.TLSAdherencePolicyLegacyAdheringComponentsOnly:
		return Intermediate()
	}
	p := s.TLSSecurityProfile
	if p == nil {
		return Intermediate()
	}
	if p.Type == configv1.TLSProfileCustomType && p.Custom != nil {
		return profile(p.Custom.TLSProfileSpec)
	}
	if known := configv1.TLSProfiles[p.Type]; known != nil {
		return profile(*known)
	}
	return Intermediate()
}

// profile leaves out suites that the programs do not have.
func profile(s configv1.TLSProfileSpec) TLS {
	out := TLS{MinVersion: string(cmp.Or(s.MinTLSVersion, configv1.VersionTLS12))}
	has := map[string]bool{}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		has[suite.Name] = true
	}
	for _, c := range s.Ciphers {
		if name := cmp.Or(suites[c], c); has[name] && !slices.Contains(out.Suites, name) {
			out.Suites = append(out.Suites, name)
		}
	}
	return out
}

// suites are IANA's names for the suites that OpenSSL spells otherwise.
var suites = map[string]string{
	"ECDHE-ECDSA-AES128-GCM-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	"ECDHE-RSA-AES128-GCM-SHA256":   "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"ECDHE-ECDSA-AES256-GCM-SHA384": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"ECDHE-RSA-AES256-GCM-SHA384":   "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"ECDHE-RSA-CHACHA20-POLY1305":   "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	"ECDHE-ECDSA-AES128-SHA256":     "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
	"ECDHE-RSA-AES128-SHA256":       "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
	"ECDHE-ECDSA-AES128-SHA":        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
	"ECDHE-RSA-AES128-SHA":          "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
	"ECDHE-ECDSA-AES256-SHA":        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
	"ECDHE-RSA-AES256-SHA":          "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
	"AES128-GCM-SHA256":             "TLS_RSA_WITH_AES_128_GCM_SHA256",
	"AES256-GCM-SHA384":             "TLS_RSA_WITH_AES_256_GCM_SHA384",
	"AES128-SHA256":                 "TLS_RSA_WITH_AES_128_CBC_SHA256",
	"AES128-SHA":                    "TLS_RSA_WITH_AES_128_CBC_SHA",
	"AES256-SHA":                    "TLS_RSA_WITH_AES_256_CBC_SHA",
	"DES-CBC3-SHA":                  "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
}

// args are the flags.
func (t TLS) args() []string {
	out := []string{"--tls-min-version=" + t.MinVersion}
	if len(t.Suites) > 0 {
		out = append([]string{"--tls-cipher-suites=" + strings.Join(t.Suites, ",")}, out...)
	}
	return out
}

// proxyArgs are the flags of kube-rbac-proxy, which starts with HTTP/2 only if it has one of the suites
// that HTTP/2 requires.
func (t TLS) proxyArgs() []string {
	demanded := func(suite string) bool {
		return suite == "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256" || suite == "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	}
	if len(t.Suites) == 0 || t.MinVersion == string(configv1.VersionTLS13) || slices.ContainsFunc(t.Suites, demanded) {
		return t.args()
	}
	return append(t.args(), "--http2-disable")
}

// The gates that operands depend on.
const (
	gateDedicatedHosts  = "AWSDedicatedHosts"
	gateIdentity        = "AzureWorkloadIdentity"
	gateMigration       = "MachineAPIMigration"
	gateZonalGroups     = "VSphereHostVMGroupZonal"
	gateManyCenters     = "VSphereMultiVCenterDay2"
	gateNoHealthChecker = "MachineAPIOperatorDisableMachineHealthCheckController"
)

// Gates are feature gates by name.
type Gates map[string]bool

// DefaultGates are the gates of a cluster that sets none.
func DefaultGates() Gates { return Gates{gateIdentity: true, gateZonalGroups: true} }

// GatesOf are the gates of one release. If no release is named, they are those of the only existing one. A
// gate that the object does not name has its default; it is an error if the object has no entry for a
// release yet.
func GatesOf(g *configv1.FeatureGate, release string) (Gates, error) {
	out, all := DefaultGates(), g.Status.FeatureGates
	i := slices.IndexFunc(all, func(d configv1.FeatureGateDetails) bool { return d.Version == release })
	if i < 0 && release == "" {
		i = len(all) - 1
	}
	if i < 0 {
		if release == "" {
			return out, nil
		}
		return nil, Faultf("FeatureGate %s: status.featureGates has no version %q", g.Name, release)
	}
	for _, a := range all[i].Enabled {
		out[string(a.Name)] = true
	}
	for _, a := range all[i].Disabled {
		out[string(a.Name)] = false
	}
	return out, nil
}

// arg is the flag with the gates that programs know.
func (g Gates) arg() string {
	var out []string
	for _, name := range []string{gateDedicatedHosts, gateIdentity, gateMigration, gateZonalGroups} {
		value := "false"
		if g[name] {
			value = "true"
		}
		out = append(out, name+"="+value)
	}
	return "--feature-gates=" + strings.Join(out, ",")
}
