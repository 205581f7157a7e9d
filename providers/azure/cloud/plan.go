package cloud

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	compute "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/azure/spec"
)

// plan has the settings of a spec that both APIs share.
type plan struct {
	location, group string
	// tags are those of the spec and of the cluster.
	tags    map[string]string
	names   names
	fields  fields
	network networking
	disks   []dataDisk
	choices []choice
	spot    bool
	// urn is the image of the Marketplace whose plan is looked up; empty for none.
	urn string
	// setFor is the availability set that the original would create for a machine; nil if it creates none.
	setFor func(machine string) string
	// machine returns the virtual machine to create.
	machine func(b vmInput) *compute.VirtualMachine
	// check refuses invalid names.
	check func(machine string) error
}

// networking is the network of a machine's interface, with its load balancers and groups.
type networking struct {
	// group is that of the virtual network. Load balancers and security groups are in the machine's.
	group, vnet, subnet              string
	configuration                    string // its name; empty: the interface's, which only has an IPv4 address
	accelerated, forwarding          *bool
	public                           bool
	securityGroup                    string
	appGroups                        []string
	publicBalancer, internalBalancer string
	natRule                          *int64
}

// dataDisk is a further disk.
type dataDisk struct {
	name    string // of the spec
	lun     int32
	size    int32
	kind    string // of its storage account
	caching string
	keep    bool
	// encryption is the ID of a set of keys.
	encryption string
	image      *spec.GardenerImage
}

// vmInput has the inputs of a virtual machine's creation besides its plan.
type vmInput struct {
	name     string
	choice   choice
	userData []byte
	tags     map[string]*string
	nic      string
	plan     *compute.Plan
	set      string // the ID of an availability set created for it
	// key is a public key for specs without one.
	key string
	// disks are the IDs of existing data disks, by unit.
	disks map[int32]string
}

// choice is a possible zone and size of a machine.
type choice struct{ zone, size string }

// choicesOf are those of a spec, or the only one.
func choicesOf(zone, size string, given []spec.Choice) (all []choice) {
	for _, g := range given {
		c := choice{zone: zone, size: size}
		if g.Zone != "" {
			c.zone = g.Zone
		}
		if g.VMSize != "" {
			c.size = g.VMSize
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		all = []choice{{zone: zone, size: size}}
	}
	return all
}

func (c choice) name() string {
	if c.zone == "" {
		return c.size
	}
	return c.size + " in zone " + c.zone
}

// market is the type under which capacity of the size is counted: spot capacity is counted separately.
func (d *plan) market(c choice) string {
	if d.spot {
		return c.size + "/spot"
	}
	return c.size
}

// choices returns [provider.Traits].Choices.
func (s *session) choices() (out []provider.Choice) {
	if s.plan == nil {
		return nil
	}
	for _, c := range s.plan.choices {
		out = append(out, provider.Choice{Name: c.name(), Region: s.plan.location, Zone: c.zone, Type: s.plan.market(c)})
	}
	return out
}

func (d *plan) choose(name string) (choice, error) {
	if name == "" {
		return d.choices[0], nil
	}
	for _, c := range d.choices {
		if c.name() == name {
			return c, nil
		}
	}
	return choice{}, provider.InvalidField("choices", "the spec has no choice %q", name)
}

// called maps fields in errors to the dialect's names.
func (d *plan) called() fields {
	if d == nil {
		return nil
	}
	return d.fields
}

func encoded(data []byte) *string {
	if len(data) == 0 {
		return nil
	}
	return to.Ptr(base64.StdEncoding.EncodeToString(data))
}

// nobodysKey is a public key whose private key is discarded: Azure requires a key, and no user is to log
// in. It is generated once in a process, since that takes long. Another process has another key; that has
// no effect, since a machine is only created if it does not exist.
var nobodysKey = sync.OnceValues(func() (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, 3072)
	if err != nil {
		return "", err
	}
	return authorizedKey(&key.PublicKey), nil
})

// authorizedKey writes a key as sshd reads it: https://datatracker.ietf.org/doc/html/rfc4253#section-6.6
func authorizedKey(key *rsa.PublicKey) string {
	var out []byte
	add := func(b []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(b)))
		out = append(out, b...)
	}
	number := func(b []byte) {
		if len(b) > 0 && b[0] >= 0x80 {
			b = append([]byte{0}, b...)
		}
		add(b)
	}
	add([]byte("ssh-rsa"))
	number([]byte{1, 0, 1}) // what [rsa.GenerateKey] always has
	number(key.N.Bytes())
	return "ssh-rsa " + base64.StdEncoding.EncodeToString(out)
}

// given is the text; empty if it only has spaces.
func given(text string) string {
	if spec.Blank(text) {
		return ""
	}
	return text
}

// optional returns nil for an empty text.
func optional[T ~string](s string) *T {
	if s == "" {
		return nil
	}
	return to.Ptr(T(s))
}

func reference(id string) *compute.SubResource {
	if id == "" {
		return nil
	}
	return &compute.SubResource{ID: to.Ptr(id)}
}

func zones(zone string) []*string {
	if zone == "" {
		return nil
	}
	return []*string{to.Ptr(zone)}
}
