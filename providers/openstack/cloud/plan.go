package cloud

import (
	"github.com/openshift/api/machine/v1alpha1"
)

// plan is what servers of a class are made of, whichever API says so.
type plan struct {
	// cloud is the one in clouds.yaml, region the one of its catalog; empty: the credentials say.
	cloud, region string
	flavor        string
	image         image
	key, zone     string
	ports         []portPlan
	groups        []groupQuery
	// tags and metadata are the users'; port is what every port is tagged with.
	tags        []string
	metadata    map[string]string
	configDrive *bool
	root        *rootPlan
	disks       []diskPlan
	// groupID and groupName are those of a group of servers.
	groupID, groupName string
	floating           string
	// owning are the keys of metadata that say whose a server is, in Gardener's way; the class's cluster stands in for none.
	owning []string
	// userData is the secret of the user data, whose further keys say what is done to it.
	userData *secretName
	// paths are where people find the fields.
	paths map[string]string
}

type secretName struct{ namespace, name string }

// image is one of Glance, by ID or by name.
type image struct{ id, name string }

func (i image) String() string {
	if i.id != "" {
		return i.id
	}
	return i.name
}

// query selects resources of Neutron: its fields are parameters of a listing.
type query struct {
	id, name, description, project     string
	tags, tagsAny, notTags, notTagsAny string
}

func (q query) empty() bool { return q == query{} }

// groupQuery selects a security group; path is where people find it.
type groupQuery struct {
	path string
	query
	// either: the name may be an ID.
	either bool
}

// subnetQuery selects a subnet.
type subnetQuery struct {
	query
	version            int
	gateway, cidr      string
	addressMode, raMod string
}

func (q subnetQuery) empty() bool { return q == subnetQuery{} }

// addressPlan is an address of a port: any one of a subnet, or the one that is named.
type addressPlan struct {
	path   string
	subnet subnetQuery
	ip     string
}

// portPlan is a port to be made.
type portPlan struct {
	path    string
	network query
	fixed   []addressPlan
	// suffix is what follows the machine's name in that of the port.
	suffix      string
	description string
	up          *bool
	mac         string
	// groups are IDs, instead of those of the plan; nil: those of the plan.
	groups *[]string
	pairs  []v1alpha1.AddressPair
	// vips: the addresses that float between nodes are let through too.
	vips    bool
	tags    []string
	vnic    string
	profile map[string]string
	secured *bool
	trunk   bool
}

// portName is the original's.
func (p portPlan) portName(machine string) string {
	return machine + p.suffix
}

// insecure: port security is off, so that there are neither groups nor pairs.
func (p portPlan) insecure() bool { return p.secured != nil && !*p.secured }

// rootPlan is a volume that a server boots from.
type rootPlan struct {
	size       int
	kind, zone string
	// suffix follows the machine's name in that of the volume; empty: nothing does.
	suffix string
	// metadata is the users' part of the volume's.
	metadata map[string]string
	// byNova: Nova makes the volume itself, so that nothing is left behind.
	byNova bool
}

// diskPlan is a further disk: a volume, or space on the host.
type diskPlan struct {
	name       string
	size       int
	volume     bool
	kind, zone string
}
