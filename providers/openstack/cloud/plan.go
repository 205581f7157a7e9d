package cloud

import (
	"github.com/openshift/api/machine/v1alpha1"
)

// plan describes the servers of a class, independent of the API.
type plan struct {
	// cloud is the one in clouds.yaml, region the one of its catalog; empty: as in the credentials.
	cloud, region string
	flavor        string
	image         image
	key, zone     string
	ports         []portPlan
	groups        []groupQuery
	// tags and metadata are the users'; port are the tags of every port.
	tags        []string
	metadata    map[string]string
	configDrive *bool
	root        *rootPlan
	disks       []diskPlan
	// groupID and groupName are those of a server group.
	groupID, groupName string
	floating           string
	// owning are the metadata keys that record a server's owner, in Gardener's way; they are empty if the
	// class's cluster is used.
	owning []string
	// userData is the secret of the user data, whose further keys say how to process it.
	userData *secretName
	// paths are the paths of the fields in the spec.
	paths map[string]string
}

type secretName struct{ namespace, name string }

// image is an image of Glance, by ID or by name.
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

// groupQuery selects a security group; path is its path in the spec.
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

// addressPlan is an address of a port: any address of a subnet, or a given one.
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
	// suffix follows the machine's name in the port's name.
	suffix      string
	description string
	up          *bool
	mac         string
	// groups are IDs that replace those of the plan; nil: those of the plan.
	groups *[]string
	pairs  []v1alpha1.AddressPair
	// vips: the port also accepts the addresses that float between nodes.
	vips    bool
	tags    []string
	vnic    string
	profile map[string]string
	secured *bool
	trunk   bool
}

// portName is the name that the original uses.
func (p portPlan) portName(machine string) string {
	return machine + p.suffix
}

// insecure: port security is off, so that the port has neither groups nor address pairs.
func (p portPlan) insecure() bool { return p.secured != nil && !*p.secured }

// rootPlan is a volume that a server boots from.
type rootPlan struct {
	size       int
	kind, zone string
	// suffix follows the machine's name in the volume's name; empty: no suffix.
	suffix string
	// metadata is the users' part of the volume's.
	metadata map[string]string
	// byNova: Nova creates the volume itself, and deletes it with the server.
	byNova bool
}

// diskPlan is a further disk: a volume, or space on the host.
type diskPlan struct {
	name       string
	size       int
	volume     bool
	kind, zone string
}
