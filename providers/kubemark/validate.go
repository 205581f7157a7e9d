package kubemark

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
)

// validate checks a spec before its defaults are set.
func (p *Provider) validate(s Spec) error {
	errs := []error{p.checkBackend(s)}
	for _, check := range []func(Spec) []error{
		checkCapacity, checkArch, checkPlace, checkChoices, checkLabels, checkTaints, checkDurations, checkLimits, checkSecrets,
	} {
		errs = append(errs, check(s)...)
	}
	return errors.Join(errs...)
}

// mostFaults limits the errors of one kind in a message: a list of a hundred thousand entries may have as
// many.
const mostFaults = 20

// shown clips a value for a message.
func shown(value string) string { return provider.Clip(value, 100) }

func (p *Provider) checkBackend(s Spec) error {
	if s.Backend == "" {
		return nil
	}
	if !slices.Contains([]string{Hollow, Kwok, Memory}, s.Backend) {
		return provider.InvalidField("backend", "%q is not one of %q, %q, %q", s.Backend, Hollow, Kwok, Memory)
	}
	if missing, ok := p.missing[s.Backend]; ok {
		return provider.InvalidField("backend", "%q cannot be used: %s", s.Backend, missing)
	}
	return nil
}

var architectures = []string{"amd64", "arm64", "ppc64le", "s390x", "riscv64"}

func checkArch(s Spec) (errs []error) {
	if s.Arch != "" && !slices.Contains(architectures, s.Arch) {
		errs = append(errs, provider.InvalidField("arch", "%q is not one of %q", shown(s.Arch), architectures))
	}
	return errs
}

// checkPlace checks the fields that become values of node labels.
func checkPlace(s Spec) (errs []error) {
	for _, f := range []struct{ path, value string }{
		{"instanceType", s.InstanceType}, {"region", s.Region}, {"zone", s.Zone},
	} {
		errs = append(errs, checkLabelValue(f.path, f.value)...)
	}
	if s.Zone != "" && len(s.Zones) > 0 {
		errs = append(errs, provider.InvalidField("zones", "must not be set together with zone"))
	}
	seen := map[string]bool{}
	for i, zone := range s.Zones {
		if len(errs) > mostFaults {
			break
		}
		path := fmt.Sprintf("zones[%d]", i)
		switch {
		case zone == "":
			errs = append(errs, provider.InvalidField(path, "is empty"))
		case seen[zone]:
			errs = append(errs, provider.InvalidField(path, "%q is a duplicate", shown(zone)))
		default:
			errs = append(errs, checkLabelValue(path, zone)...)
		}
		seen[zone] = true
	}
	return errs
}

// checkChoices checks choices after their omitted fields are filled in.
func checkChoices(s Spec) (errs []error) {
	if len(s.Choices) > 0 && len(s.Zones) > 0 {
		errs = append(errs, provider.InvalidField("choices", "must not be set together with zones"))
	}
	if len(s.Choices) > mostFaults {
		return append(errs, provider.InvalidField("choices", "has %d entries, more than %d", len(s.Choices), mostFaults))
	}
	seen := map[Choice]bool{}
	for i, c := range s.Choices {
		path := fmt.Sprintf("choices[%d]", i)
		errs = append(errs, checkLabelValue(path+".instanceType", c.InstanceType)...)
		errs = append(errs, checkLabelValue(path+".zone", c.Zone)...)
		whole := Choice{InstanceType: cmp.Or(c.InstanceType, s.InstanceType), Zone: cmp.Or(c.Zone, s.Zone)}
		switch {
		case whole == Choice{}:
			errs = append(errs, provider.InvalidField(path, "has neither an instance type nor a zone"))
		case seen[whole]:
			errs = append(errs, provider.InvalidField(path, "%q is a duplicate", shown(whole.name())))
		}
		seen[whole] = true
	}
	return errs
}

func checkLabelValue(path, value string) (errs []error) {
	for _, why := range validation.IsValidLabelValue(value) {
		errs = append(errs, provider.InvalidField(path, "%q is not a valid label value: %s", shown(value), why))
	}
	return errs
}

func checkLabels(s Spec) (errs []error) {
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if len(errs) > mostFaults {
			break
		}
		path := "labels[" + shown(key) + "]"
		for _, why := range validation.IsQualifiedName(key) {
			errs = append(errs, provider.InvalidField(path, "is not a valid label key: %s", why))
		}
		if !kubeletMaySet(key) {
			errs = append(errs, provider.InvalidField(path,
				"a kubelet may not set this label itself; have it put on by the machine's node metadata"))
		}
		errs = append(errs, checkLabelValue(path, s.Labels[key])...)
	}
	return errs
}

// kubeletMaySet reports whether the API server lets a node set the label on itself: of the labels of
// kubernetes.io and k8s.io, only a few.
func kubeletMaySet(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	if !inDomain(domain, "kubernetes.io") && !inDomain(domain, "k8s.io") || !strings.Contains(key, "/") {
		return true
	}
	if inDomain(domain, "kubelet.kubernetes.io") || inDomain(domain, "node.kubernetes.io") {
		return true
	}
	return slices.Contains([]string{
		corev1.LabelHostname, corev1.LabelOSStable, corev1.LabelArchStable,
		corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
		corev1.LabelInstanceType, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
	}, key)
}

func inDomain(domain, of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }

var taintEffects = []corev1.TaintEffect{
	corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute,
}

func checkTaints(s Spec) (errs []error) {
	seen := map[corev1.Taint]bool{} // by the fields by which the scheduler compares taints
	for i, t := range s.Taints {
		if len(errs) > mostFaults {
			break
		}
		path := fmt.Sprintf("taints[%d]", i)
		for _, why := range validation.IsQualifiedName(t.Key) {
			errs = append(errs, provider.InvalidField(path+".key", "%q is not a valid taint key: %s", shown(t.Key), why))
		}
		errs = append(errs, checkLabelValue(path+".value", t.Value)...)
		if !slices.Contains(taintEffects, t.Effect) {
			errs = append(errs, provider.InvalidField(path+".effect", "%q is not one of %q", shown(string(t.Effect)), taintEffects))
		}
		same := corev1.Taint{Key: t.Key, Effect: t.Effect}
		if seen[same] {
			errs = append(errs, provider.InvalidField(path, "key %q with effect %q is a duplicate", shown(t.Key), shown(string(t.Effect))))
		}
		seen[same] = true
	}
	return errs
}

func checkDurations(s Spec) (errs []error) {
	for _, f := range []struct {
		path     string
		value    *metav1.Duration
		positive bool
	}{
		{"createLatency", s.CreateLatency, false},
		{"bootLatency", s.BootLatency, false},
		{"bootSpread", s.BootSpread, false},
		{"deleteLatency", s.DeleteLatency, false},
		{"deletionTimeout", s.DeletionTimeout, false},
		{"readLag", s.ReadLag, false},
		{"diesAfter", s.DiesAfter, true},
		{"interruptAfter", s.InterruptAfter, true},
		{"interruptNotice", s.InterruptNotice, false},
		{"healthyDuration", s.HealthyDuration, true},
		{"unhealthyDuration", s.UnhealthyDuration, true},
	} {
		switch {
		case f.value == nil:
		case f.value.Duration < 0:
			errs = append(errs, provider.InvalidField(f.path, "%v is negative", f.value.Duration))
		case f.value.Duration == 0 && f.positive:
			errs = append(errs, provider.InvalidField(f.path, "must be longer than 0s; omit it for never"))
		}
	}
	if duration(s.BootSpread, 0) > duration(s.BootLatency, 0) {
		errs = append(errs, provider.InvalidField("bootSpread", "must not be longer than bootLatency"))
	}
	if s.DeleteLatency != nil && s.DeletionTimeout != nil {
		errs = append(errs, provider.InvalidField("deletionTimeout", "is the former name of deleteLatency: set only one of them"))
	}
	return errs
}

// faultKinds are the supported kinds of faults.
var faultKinds = []provider.Kind{
	provider.Transient, provider.Throttled, provider.Exhausted, provider.Invalid, provider.Denied, provider.Conflict,
}

func checkLimits(s Spec) (errs []error) {
	if s.Fault != "" && !slices.Contains(faultKinds, provider.Kind(s.Fault)) {
		errs = append(errs, provider.InvalidField("fault", "%q is not one of %q", shown(s.Fault), faultKinds))
	}
	for _, f := range []struct {
		path  string
		value float64
	}{{"createFailureRate", s.CreateFailureRate}, {"deleteFailureRate", s.DeleteFailureRate}} {
		if f.value < 0 || f.value > 1 {
			errs = append(errs, provider.InvalidField(f.path, "%v is not between 0 and 1", f.value))
		}
	}
	if s.Quota != nil && *s.Quota < 0 {
		errs = append(errs, provider.InvalidField("quota", "%d is negative; omit it for no limit", *s.Quota))
	}
	if s.CallsPerSecond < 0 {
		errs = append(errs, provider.InvalidField("callsPerSecond", "%v is negative", s.CallsPerSecond))
	}
	return errs
}

func checkSecrets(s Spec) (errs []error) {
	if s.UserDataSecret != nil && s.UserDataSecret.Name == "" {
		errs = append(errs, provider.InvalidField("userDataSecret.name", "is empty"))
	}
	if s.CredentialsSecret != nil && s.CredentialsSecret.Name == "" {
		errs = append(errs, provider.InvalidField("credentialsSecret.name", "is empty"))
	}
	return errs
}
