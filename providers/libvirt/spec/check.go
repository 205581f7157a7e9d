package spec

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
	"github.com/millwright-dev/millwright/provider/lenient"
)

// DecodeOpenShift decodes and validates a spec of machine.openshift.io. If the config is nil, the error is a
// decoding error; otherwise it has the invalid fields.
func DecodeOpenShift(raw []byte) (*Config, error) {
	c, _, err := lenient.Decode[Config](raw)
	if err != nil {
		return nil, err
	}
	faults := c.check()
	for _, f := range c.forms() {
		if f.secret == "" {
			faults = append(faults, provider.InvalidField(f.path, "must name the secret with the user data"))
		}
	}
	return c, errors.Join(faults...)
}

// DecodeGardener decodes and validates a spec of machine.sapcloud.io. Unknown fields are invalid: there is no
// original whose specs must be accepted.
func DecodeGardener(raw []byte) (*Config, error) {
	c := &Config{}
	if err := kit.DecodeStrict(raw, c); err != nil {
		return nil, err
	}
	faults := c.check()
	for _, f := range c.forms() {
		if f.secret != "" {
			faults = append(faults, provider.InvalidField(f.path, "must be empty: the user data is in the secret of the MachineClass"))
		}
	}
	if c.APIVersion != "" && c.APIVersion != GardenerVersion {
		faults = append(faults, provider.InvalidField("apiVersion", "%q is not %s", lenient.Shown(c.APIVersion), GardenerVersion))
	}
	if c.Kind != "" && c.Kind != GardenerKind {
		faults = append(faults, provider.InvalidField("kind", "%q is not %s", lenient.Shown(c.Kind), GardenerKind))
	}
	if c.CloudInit != nil && c.CloudInit.SSHAccess {
		faults = append(faults, provider.InvalidField("cloudInit.sshAccess", sshInstead))
	}
	return c, errors.Join(faults...)
}

// form is a format of user data in a spec: the field that names the secret, and the secret's name.
type form struct{ path, secret string }

func (c *Config) forms() (chosen []form) {
	if c.Ignition != nil {
		chosen = append(chosen, form{"ignition.userDataSecret", c.Ignition.UserDataSecret})
	}
	if c.CloudInit != nil {
		chosen = append(chosen, form{"cloudInit.userDataSecret", c.CloudInit.UserDataSecret})
	}
	return chosen
}

// UserDataSecret is the name of the secret with the user data; empty: the spec names none.
func (c *Config) UserDataSecret() string {
	if chosen := c.forms(); len(chosen) > 0 {
		return chosen[0].secret
	}
	return ""
}

// The maximum size of a guest: larger values are mistakes, and would overflow 64 bits when counted in bytes.
const (
	mostMemory = 64 << 20 // MiB
	mostVcpu   = 4096
	mostBytes  = 1 << 60
)

var (
	uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)
	// volumeName matches valid prefixes of file names.
	volumeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// mostName leaves room for the suffixes of volume names.
const mostName = 60

// check returns the errors that are the same in both APIs.
func (c *Config) check() (faults []error) {
	refuse := func(when bool, path, format string, args ...any) {
		if when {
			faults = append(faults, provider.InvalidField(path, format, args...))
		}
	}
	refuse(c.DomainMemory < 1 || c.DomainMemory > mostMemory, "domainMemory", "%d MiB is no memory for a guest", c.DomainMemory)
	refuse(c.DomainVcpu < 1 || c.DomainVcpu > mostVcpu, "domainVcpu", "%d is no number of CPUs for a guest", c.DomainVcpu)
	refuse(c.Ignition != nil && c.CloudInit != nil, "cloudInit", "cannot be together with ignition")
	refuse(c.IgnKey != "" && c.CloudInit != nil, "ignKey", "cannot be together with cloudInit")
	refuse(c.IgnKey != "" && c.Ignition != nil, "ignKey", "cannot be together with ignition, which makes a volume for each machine")
	refuse(c.NetworkUUID != "" && !uuid.MatchString(c.NetworkUUID), "networkUUID", "%q is no UUID", lenient.Shown(c.NetworkUUID))
	if c.NetworkInterfaceAddress != "" {
		_, err := netip.ParsePrefix(c.NetworkInterfaceAddress)
		refuse(err != nil, "networkInterfaceAddress", "%q is no range of addresses: 192.168.122.0/24", lenient.Shown(c.NetworkInterfaceAddress))
	}
	if c.NetworkInterfaceHostname != "" {
		why := validation.IsDNS1123Subdomain(c.NetworkInterfaceHostname)
		refuse(len(why) > 0, "networkInterfaceHostname", "%s", strings.Join(why, ", "))
	}
	if why := CheckURI(c.URI); why != "" {
		refuse(true, "uri", "%q %s", lenient.Shown(c.URI), why)
	}
	return append(faults, c.Volume.check()...)
}

func (v *Volume) check() (faults []error) {
	if v == nil || v.BaseVolumeID == "" {
		return []error{provider.InvalidField("volume.baseVolumeID", "is required: the guest boots from a layer over a base volume")}
	}
	if v.VolumeName != "" && (len(v.VolumeName) > mostName || !volumeName.MatchString(v.VolumeName)) {
		faults = append(faults, provider.InvalidField("volume.volumeName", "%q is not a valid name of a volume", lenient.Shown(v.VolumeName)))
	}
	if v.VolumeSize != nil && (v.VolumeSize.Value() < 1 || v.VolumeSize.Value() > mostBytes) {
		faults = append(faults, provider.InvalidField("volume.volumeSize", "%q is not a valid size of a disk", v.VolumeSize.String()))
	}
	return faults
}

// transports are the supported ones, which follow a plus in the URI's scheme.
var transports = []string{"", "unix", "tcp", "tls", "ssh", "libssh", "libssh2"}

// CheckURI returns why a URI is invalid; empty: it is valid.
func CheckURI(uri string) string {
	if uri == "" {
		return ""
	}
	u, err := url.Parse(uri)
	if err != nil {
		return "is no URI"
	}
	driver, transport, _ := strings.Cut(u.Scheme, "+")
	switch {
	case driver == "":
		return "names no driver: " + DefaultURI
	case !slices.Contains(transports, transport):
		return "is reached in no way that there is: " + strings.Join(transports[1:], ", ")
	case (transport == "tcp" || transport == "tls" || strings.Contains(transport, "ssh")) && u.Hostname() == "":
		return "names no host"
	case u.Path == "" || u.Path == "/" && driver == "qemu":
		return "names no instance of the driver: " + DefaultURI
	}
	return ""
}

// note is about a field without an effect.
type note struct{ path, instead string }

const sshInstead = "user data says who may log in"

// ignored returns the fields of a spec that have no effect.
func ignored(c *Config) (all []note) {
	if c.CloudInit != nil && c.CloudInit.SSHAccess {
		all = append(all, note{"cloudInit.sshAccess", sshInstead})
	}
	if c.NetworkUUID != "" && c.NetworkInterfaceName != "" {
		all = append(all, note{"networkInterfaceName", "networkUUID says which network"})
	}
	return all
}
