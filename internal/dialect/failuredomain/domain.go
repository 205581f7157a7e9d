// Package failuredomain reads and writes the failure domains of machines in the provider specs of six platforms, and compares provider specs.
// Specs stay JSON, so that fields that no type of this package has are kept.
//
// Section 5 of docs/originals/controlplanemachineset.md has the fields and texts.
package failuredomain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	configv1 "github.com/openshift/api/config/v1"
	machinev1 "github.com/openshift/api/machine/v1"
	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
)

// Domain is a failure domain. Each platform uses some of the fields.
type Domain struct {
	Platform configv1.PlatformType
	// Zone is used by AWS, Azure, GCP and OpenStack.
	Zone string
	// Name is that of a failure domain of the Infrastructure, on VSphere and Nutanix.
	Name string
	// Subnet is used by Azure, Reference by AWS, Volume by OpenStack.
	Subnet    string
	Reference *machinev1.AWSResourceReference
	Volume    *machinev1.RootVolume
}

// String returns the text by which failure domains are sorted and compared. Clients see it in messages.
func (d Domain) String() string {
	p, known := platforms[d.Platform]
	if !known {
		return string(d.Platform) + "FailureDomain{}"
	}
	return p.text(d)
}

// Completed returns d with the fields that it lacks taken from the failure domain of the template.
func (d Domain) Completed(template Domain) Domain {
	d.Zone, d.Name, d.Subnet = cmp.Or(d.Zone, template.Zone), cmp.Or(d.Name, template.Name), cmp.Or(d.Subnet, template.Subnet)
	if d.Reference == nil || reflect.DeepEqual(*d.Reference, machinev1.AWSResourceReference{}) {
		d.Reference = template.Reference
	}
	switch {
	case d.Volume == nil:
		d.Volume = template.Volume
	case template.Volume != nil:
		d.Volume = &machinev1.RootVolume{
			AvailabilityZone: cmp.Or(d.Volume.AvailabilityZone, template.Volume.AvailabilityZone), VolumeType: cmp.Or(d.Volume.VolumeType, template.Volume.VolumeType),
		}
	}
	return d
}

// Errors of failure domains that cannot be used.
var (
	ErrMissing     = errors.New("missing failure domain configuration")
	ErrUnsupported = errors.New("unsupported platform type")
	errUndefined   = errors.New("failure domain is not defined in the infrastructure resource")
	errNoSpec      = errors.New("provider spec is nil")
)

// List returns the failure domains of a template, in its order. Without any, the result is empty; [ErrMissing] means that the platform requires some.
func List(fds *machinev1.FailureDomains) ([]Domain, error) {
	if fds == nil || fds.Platform == "" {
		return nil, nil
	}
	p, known := platforms[fds.Platform]
	if !known {
		return nil, fmt.Errorf("%w: %s", ErrUnsupported, fds.Platform)
	}
	out, configured := p.list(*fds)
	if !configured {
		return nil, ErrMissing
	}
	for i := range out {
		out[i].Platform = fds.Platform
	}
	return out, nil
}

// platform has what differs between platforms.
type platform interface {
	// kind is that of its provider specs.
	kind() string
	// text is described at [Domain.String].
	text(d Domain) string
	// list returns the failure domains of a template; configured is false if the list is missing.
	list(fds machinev1.FailureDomains) (all []Domain, configured bool)
	// read returns the failure domain of a spec.
	read(raw []byte, in *configv1.Infrastructure) (Domain, error)
	// write writes a failure domain into a spec.
	write(spec object, d Domain, in *configv1.Infrastructure) error
	// compared returns the fields of a spec that count in comparisons, as JSON values.
	compared(raw []byte) (any, error)
	// generate returns the failure domains of a generated template for those of machines, which are distinct and sorted; nil: none.
	generate(all []Domain) (*machinev1.FailureDomains, error)
	// clear removes from the spec of a generated template what its failure domains have.
	clear(spec object, all []Domain, in *configv1.Infrastructure) error
}

var platforms = map[configv1.PlatformType]platform{
	configv1.AWSPlatformType: aws{}, configv1.AzurePlatformType: azure{}, configv1.GCPPlatformType: gcp{},
	configv1.OpenStackPlatformType: openStack{}, configv1.VSpherePlatformType: vSphere{}, configv1.NutanixPlatformType: nutanix{},
}

// Config is a provider spec of a known platform. The platform of any other spec is empty.
type Config struct {
	Platform configv1.PlatformType
	raw      []byte
	in       *configv1.Infrastructure
}

// OfTemplate returns the provider spec of a template: its failure domains name the platform, or the spec's kind. A nil in means that the cluster has no Infrastructure.
func OfTemplate(t machinev1.OpenShiftMachineV1Beta1MachineTemplate, in *configv1.Infrastructure) (Config, error) {
	c, err := Of(t.Spec.ProviderSpec, in)
	if err != nil || t.FailureDomains == nil || t.FailureDomains.Platform == "" {
		return c, err
	}
	c.Platform = t.FailureDomains.Platform
	if c.Platform == configv1.NonePlatformType {
		return Config{}, fmt.Errorf("%w: %s", ErrUnsupported, c.Platform)
	}
	if p, known := platforms[c.Platform]; known {
		_, err = p.compared(c.raw)
	} else {
		c.Platform = ""
	}
	return c, err
}

// Of returns a provider spec, whose kind names the platform. It fails if the spec cannot be decoded.
func Of(spec machinev1beta1.ProviderSpec, in *configv1.Infrastructure) (Config, error) {
	if spec.Value == nil {
		return Config{}, errNoSpec
	}
	c := Config{raw: spec.Value.Raw, in: in}
	named, err := decode[struct {
		Kind string `json:"kind"`
	}](c.raw)
	if err != nil {
		return Config{}, err
	}
	for name, p := range platforms {
		if p.kind() == named.Kind {
			c.Platform = name
			_, err = p.compared(c.raw)
		}
	}
	return c, err
}

// Raw returns the spec as JSON.
func (c Config) Raw() []byte { return slices.Clone(c.raw) }

// Domain returns the failure domain of the spec. It has no fields if the platform has no failure domains.
func (c Config) Domain() (Domain, error) {
	p, known := platforms[c.Platform]
	if !known {
		return Domain{}, nil
	}
	d, err := p.read(c.raw, c.in)
	d.Platform = c.Platform
	return d, err
}

// In returns the spec in another failure domain. All fields that do not belong to failure domains stay as they are.
func (c Config) In(d Domain) (Config, error) {
	p, known := platforms[c.Platform]
	if !known {
		return c, nil
	}
	raw, err := edited(c.raw, func(o object) error { return p.write(o, d, c.in) })
	if err != nil {
		return c, fmt.Errorf("failed to inject failure domain: %w", err)
	}
	c.raw = raw
	return c, nil
}

// Defaulted returns the spec after a function has filled in defaults. A spec that the function rejects stays as it is.
func (c Config) Defaulted(fill func(raw []byte) ([]byte, error)) Config {
	if filled, err := fill(c.raw); err == nil && json.Valid(filled) {
		c.raw = filled
	}
	return c
}

// Diff lists at most ten fields of c that differ from those of the other spec: "instanceType: m6i.xlarge != m5.xlarge". Section 4.3 has the fields that do not count.
func (c Config) Diff(other Config) ([]string, error) {
	if c.Platform != other.Platform {
		return nil, fmt.Errorf("mismatched platform types: %q and %q", c.Platform, other.Platform)
	}
	compared := func(raw []byte) (any, error) { return decode[any](raw) }
	if p, known := platforms[c.Platform]; known {
		compared = p.compared
	}
	a, err := compared(c.raw)
	if err != nil {
		return nil, err
	}
	b, err := compared(other.raw)
	if err != nil {
		return nil, err
	}
	return differences("", pruned(a), pruned(b)), nil
}
