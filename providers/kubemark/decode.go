package kubemark

import (
	"cmp"
	"errors"
	"maps"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/providers/kubemark/internal/cloud"
)

// The defaults of a spec.
const (
	defaultCores   = 4
	defaultMemory  = 16 << 30
	defaultMaxPods = 110
	defaultNotice  = 2 * time.Minute
	defaultMood    = time.Minute
)

// dialect has the differences between the APIs.
type dialect struct {
	// versions are the valid apiVersions of a spec. untyped: the spec may omit apiVersion and kind, or kind.
	versions []string
	untyped  bool
	// status is the API's status of an instance.
	status func(provider.Instance) any
}

var dialects = map[string]dialect{
	provider.OpenShift: {
		versions: []string{
			OpenShiftAPIVersion,
			"kubemarkproviderconfig.k8s.io/v1alpha1",
			"machine.openshift.io/v1beta1",
		},
		status: providerStatus,
	},
	provider.Gardener: {versions: []string{GardenerAPIVersion}, untyped: true, status: lastKnownState},
}

func dialectOf(api string) (dialect, error) {
	d, ok := dialects[api]
	if !ok {
		return d, provider.Errorf(provider.Invalid, "kubemark has no specs of the API %q", api)
	}
	return d, nil
}

// decode decodes and validates the spec of a class, and sets its defaults.
func (p *Provider) decode(class provider.Class) (spec Spec, err error) {
	spec, err = p.specs.Get(class.API, class.Spec)
	if err != nil {
		return Spec{}, err
	}
	p.fill(&spec, class)
	return spec, nil
}

// judge decodes and validates a spec. The result is shared: do not change it.
func (p *Provider) judge(api string, raw []byte) (spec Spec, err error) {
	if err := kit.DecodeStrict(raw, &spec); err != nil {
		return Spec{}, err
	}
	if err := errors.Join(checkType(api, spec.TypeMeta), p.validate(spec)); err != nil {
		return Spec{}, err
	}
	return spec, nil
}

func checkType(api string, t metav1.TypeMeta) error {
	d, err := dialectOf(api)
	if err != nil || d.untyped && t == (metav1.TypeMeta{}) {
		return err
	}
	var errs []error
	if !slices.Contains(d.versions, t.APIVersion) {
		errs = append(errs, provider.InvalidField("apiVersion", "%q is not one of %q", t.APIVersion, d.versions))
	}
	if t.Kind != Kind && (!d.untyped || t.Kind != "") {
		errs = append(errs, provider.InvalidField("kind", "%q is not %q", t.Kind, Kind))
	}
	return errors.Join(errs...)
}

// fill sets the defaults of all fields but capacity, in a copy: the shared pointers and maps are not changed.
func (p *Provider) fill(s *Spec, class provider.Class) {
	s.Backend = cmp.Or(s.Backend, p.config.Backend)
	s.Arch = cmp.Or(s.Arch, runtime.GOARCH)
	if s.Backend == Hollow { // a kubelet needs the host's
		s.Arch = runtime.GOARCH
	}
	s.Region = cmp.Or(s.Region, class.Region)
	if len(s.Zones) == 0 {
		s.Zone = cmp.Or(s.Zone, class.Zone)
	}
	s.Choices = slices.Clone(s.Choices)
	for n := range s.Choices {
		c := &s.Choices[n]
		c.InstanceType, c.Zone = cmp.Or(c.InstanceType, s.InstanceType), cmp.Or(c.Zone, s.Zone)
	}
}

// choose returns the spec of one of its choices or zones; by default, of the first.
func (s Spec) choose(name string) (Spec, error) {
	all := s.Choices
	if len(all) == 0 {
		all = s.spread()
	}
	if name == "" && len(all) == 0 {
		return s, nil
	}
	for _, c := range all {
		if name == "" || c.name() == name {
			s.InstanceType, s.Zone = c.InstanceType, c.Zone
			return s, nil
		}
	}
	return s, provider.Errorf(provider.Invalid, "the spec has no choice %q", name)
}

// name identifies a choice in a spec.
func (c Choice) name() string {
	switch {
	case c.Zone == "":
		return c.InstanceType
	case c.InstanceType == "":
		return "zone " + c.Zone
	}
	return c.InstanceType + " in " + c.Zone
}

// spread returns the zones of the spec as choices.
func (s Spec) spread() []Choice {
	out := make([]Choice, 0, len(s.Zones))
	for _, zone := range s.Zones {
		out = append(out, Choice{InstanceType: s.InstanceType, Zone: zone})
	}
	return out
}

// nodeLabels are the labels of all nodes of the class: its region, zone and type, if they do not depend on
// the machine.
func (s Spec) nodeLabels() map[string]string {
	out := maps.Clone(s.Labels)
	if out == nil {
		out = map[string]string{}
	}
	kind, zone := s.InstanceType, s.Zone
	for n, c := range s.Choices {
		if n == 0 {
			kind, zone = c.InstanceType, c.Zone
		}
		if kind != c.InstanceType {
			kind = ""
		}
		if zone != c.Zone {
			zone = ""
		}
	}
	for key, value := range map[string]string{
		corev1.LabelInstanceTypeStable: kind, corev1.LabelTopologyRegion: s.Region, corev1.LabelTopologyZone: zone,
	} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// traits returns the traits of an instance from the spec of one choice, and the capacity of its node.
func (s Spec) traits(has capacity) cloud.Traits {
	t := cloud.Traits{
		Backend:      s.Backend,
		InstanceType: s.InstanceType,
		Region:       s.Region,
		Zone:         s.Zone,
		Arch:         s.Arch,
		Cores:        has[corev1.ResourceCPU],
		Memory:       has[corev1.ResourceMemory],
		MaxPods:      has[corev1.ResourcePods],
		Resources:    has.further(),
		Labels:       s.Labels,
		Taints:       s.Taints,
		Latencies: cloud.Latencies{
			CreateLatency: duration(s.CreateLatency, 0), BootLatency: duration(s.BootLatency, 0), BootSpread: duration(s.BootSpread, 0),
			DeleteLatency: duration(s.DeleteLatency, duration(s.DeletionTimeout, 0)),
		},
		Fault:      s.Fault,
		NeverJoins: s.NeverJoins,
		NeedsInit:  s.Initialize,
		DiesAfter:  duration(s.DiesAfter, 0),
	}
	if s.InterruptAfter != nil {
		t.InterruptAfter = s.InterruptAfter.Duration
		t.InterruptNotice = duration(s.InterruptNotice, defaultNotice)
	}
	if s.TurnUnhealthyAfter || s.TurnUnhealthyPeriodically {
		t.Healthy = duration(s.HealthyDuration, defaultMood)
	}
	if s.TurnUnhealthyPeriodically {
		t.Silent = duration(s.UnhealthyDuration, defaultMood)
	}
	return t
}

// duration returns d, or other if d is nil.
func duration(d *metav1.Duration, other time.Duration) time.Duration {
	if d == nil {
		return other
	}
	return d.Duration
}
