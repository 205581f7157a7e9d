package nova

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// order is the body of a request for a server.
type order struct {
	Name             string            `json:"name"`
	ImageRef         string            `json:"imageRef"`
	FlavorRef        string            `json:"flavorRef"`
	KeyName          string            `json:"key_name"`
	AvailabilityZone string            `json:"availability_zone"`
	UserData         string            `json:"user_data"`
	Metadata         map[string]string `json:"metadata"`
	Tags             []string          `json:"tags"`
	ConfigDrive      json.RawMessage   `json:"config_drive"`
	Networks         json.RawMessage   `json:"networks"`
	SecurityGroups   []struct {
		Name string `json:"name"`
	} `json:"security_groups"`
	BlockDevices []blockDevice `json:"block_device_mapping_v2"`
}

type blockDevice struct {
	UUID        string `json:"uuid"`
	Source      string `json:"source_type"`
	Destination string `json:"destination_type"`
	BootIndex   *int   `json:"boot_index"`
	Size        int    `json:"volume_size"`
	Type        string `json:"volume_type"`
	Dies        bool   `json:"delete_on_termination"`
	Tag         string `json:"tag"`
}

type nic struct {
	UUID    string `json:"uuid"`
	Port    string `json:"port"`
	FixedIP string `json:"fixed_ip"`
}

var (
	metadataKey = regexp.MustCompile(`^[a-zA-Z0-9-_:. ]{1,255}$`)
	tagFormat   = regexp.MustCompile(`^[^/,]{1,60}$`)
)

// mostTags is the maximum number of a server's tags.
const mostTags = 50

// refusal is an error answer to a creation.
type refusal struct {
	status        int
	name, message string
}

func bad(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "badRequest", fmt.Sprintf(format, args...)}
}

// buying creates servers.
type buying struct{ servers }

func (k buying) createServer() {
	var o order
	if !k.read("server", &o) {
		return
	}
	s, why := k.accept(o)
	if why != nil {
		k.fail(why.status, why.name, why.message)
		return
	}
	k.all.Put(s.id, s)
	k.reply(http.StatusAccepted, map[string]any{"server": map[string]any{
		"id": s.id, "links": k.links("servers", s.id), "OS-DCF:diskConfig": "MANUAL", "security_groups": groupNames(s.groups), "adminPass": "7vWCqjCXZtgY",
	}})
}

// accept creates a server for an order, or returns the error. The checks have the same order as in Nova's API.
func (k buying) accept(o order) (server, *refusal) {
	s := server{
		name: o.Name, project: k.token.project, user: k.token.user, created: k.now, boots: 1,
		bought: bought{
			key: o.KeyName, metadata: o.Metadata, tags: o.Tags, userData: o.UserData, config: strings.EqualFold(text(o.ConfigDrive), "true"),
		},
	}
	for _, g := range o.SecurityGroups {
		s.groups = append(s.groups, g.Name)
	}
	for _, check := range []func(*server, order) *refusal{k.checkSchema, k.checkImage, k.checkFlavor, k.checkPlace, k.checkDisks, k.checkQuota, k.checkNetworks} {
		if why := check(&s, o); why != nil {
			return s, why
		}
	}
	s.id = k.id("server")
	s.seq = k.seq
	k.claim(&s, o)
	k.place(&s)
	return s, nil
}

// claim attaches the volumes of an accepted server, and creates the volumes that Nova creates.
func (k buying) claim(s *server, o order) {
	for _, d := range o.BlockDevices {
		id := d.UUID
		switch {
		case d.Source == "volume":
		case d.Destination == "volume":
			id = cinder{k.call}.addVolume(volume{size: d.Size, kind: d.Type, image: d.UUID, zone: s.zone, project: s.project.ID}).id
		default:
			continue
		}
		k.volumes[id].server = "claimed"
		s.disks = append(s.disks, disk{id, d.Dies})
	}
}

func (k buying) checkSchema(_ *server, o order) *refusal {
	if o.Name == "" || len(o.Name) > 255 {
		return bad("Invalid input for field/attribute name. Value: %s. '%s' does not match.", o.Name, o.Name)
	}
	for key, value := range o.Metadata {
		if !metadataKey.MatchString(key) || len(value) > 255 {
			return bad("Invalid input for field/attribute metadata. Value: {'%s': '%s'}. '%s' does not match any of the regexes: '^[a-zA-Z0-9-_:. ]{1,255}$'", key, value, key)
		}
	}
	for _, t := range o.Tags {
		if !tagFormat.MatchString(t) {
			return bad("Invalid input for field/attribute 0. Value: %s. '%s' does not match '^[^,/]*$'", t, t)
		}
	}
	if len(o.Tags) > mostTags {
		return bad("Invalid input for field/attribute tags. Value: %v. %v is too long", o.Tags, o.Tags)
	}
	if len(o.UserData) > 65535 {
		// nova.api.validation: the whole value, twice.
		return bad("Invalid input for field/attribute user_data. Value: %s. '%s' is too long", o.UserData, o.UserData)
	}
	return nil
}

func (k buying) checkImage(s *server, o order) *refusal {
	id := o.ImageRef
	for _, d := range o.BlockDevices {
		if d.Source == "image" && d.BootIndex != nil && *d.BootIndex == 0 {
			id = d.UUID
		}
	}
	if id == "" {
		return nil
	}
	i, ok := k.image(id)
	switch {
	case !ok:
		return bad("Can not find requested image")
	case i.Status != "" && i.Status != "active":
		return bad("Image %s is not active.", id)
	}
	if !k.bootsFromVolume(o) {
		s.image = id
	}
	return nil
}

func (k buying) bootsFromVolume(o order) bool {
	return slices.ContainsFunc(o.BlockDevices, func(d blockDevice) bool {
		return d.Destination == "volume" && d.BootIndex != nil && *d.BootIndex == 0
	})
}

func (k buying) checkFlavor(s *server, o order) *refusal {
	f, ok := k.flavor(o.FlavorRef)
	if !ok {
		return bad("Flavor %s could not be found.", o.FlavorRef)
	}
	s.flavor = f
	if i, ok := k.image(s.image); ok && i.MinDisk > f.Disk {
		return bad("Flavor's disk is too small for requested image. Flavor disk is %d bytes, image is %d bytes.", f.Disk<<30, i.MinDisk<<30)
	}
	return nil
}

func (k buying) checkPlace(s *server, o order) *refusal {
	s.zone = o.AvailabilityZone
	if s.zone == "" {
		s.zone = k.stock.Zones[0]
	}
	// nova.compute.api: get_availability_zones(context.elevated(), True) has only zones with an enabled host.
	if !slices.Contains(k.stock.Zones, s.zone) && !k.any || o.AvailabilityZone != "" && k.closed[s.zone] {
		return bad("The requested availability zone is not available")
	}
	if o.KeyName != "" && !slices.Contains(k.stock.KeyPairs, o.KeyName) && !k.any {
		return bad("Invalid key_name provided.")
	}
	var hints struct {
		Hints struct {
			Group string `json:"group"`
		} `json:"os:scheduler_hints"`
	}
	_ = json.Unmarshal(k.body, &hints)
	if g := hints.Hints.Group; g != "" {
		if _, ok := k.groups[g]; !ok && !k.any {
			return bad("Instance group %s could not be found.", g)
		}
		s.group = g
	}
	return nil
}

func (k buying) checkQuota(s *server, _ order) *refusal {
	var instances, cores, ram int
	for _, other := range k.all.All() {
		if other.project.ID == s.project.ID {
			instances, cores, ram = instances+1, cores+other.flavor.VCPUs, ram+other.flavor.RAM
		}
	}
	q := k.stock.Quota
	var names, asked, used, most []string
	for _, r := range []struct {
		name             string
		used, want, most int
	}{{"instances", instances, 1, q.Instances}, {"cores", cores, s.flavor.VCPUs, q.Cores}, {"ram", ram, s.flavor.RAM, q.RAM}} {
		if r.most >= 0 && r.used+r.want > r.most {
			names, asked, used, most = append(names, r.name), append(asked, itoa(r.want)), append(used, itoa(r.used)), append(most, itoa(r.most))
		}
	}
	switch {
	case len(names) > 0 && q.Unified:
		return k.overLimit(names[0], most[0], used[0], asked[0])
	case len(names) == 0 && q.GroupMembers > 0 && s.group != "" && k.members(s.group) >= q.GroupMembers:
		// nova.compute.api: QuotaError, which servers.create converts to a 403.
		return &refusal{http.StatusForbidden, "forbidden", "Quota exceeded, too many servers in group"}
	case len(names) == 0:
		return nil
	}
	return &refusal{http.StatusForbidden, "forbidden", fmt.Sprintf("Quota exceeded for %s: Requested %s, but already used %s of %s %s",
		strings.Join(names, ", "), strings.Join(asked, ", "), strings.Join(used, ", "), strings.Join(most, ", "), strings.Join(names, ", "))}
}

// overLimit is oslo_limit.exception.ProjectOverLimit, whose text Nova passes on (nova.limit.placement: TooManyInstances(str(e))).
func (k buying) overLimit(name, most, used, asked string) *refusal {
	resource := map[string]string{"instances": "servers", "cores": "class:VCPU", "ram": "class:MEMORY_MB"}[name]
	return &refusal{http.StatusForbidden, "forbidden", fmt.Sprintf("Project %s is over a limit for [Resource %s is over limit of %s due to current usage %s and delta %s]",
		k.token.project.ID, resource, most, used, asked)}
}

// members is the number of servers in a server group.
func (k buying) members(group string) (n int) {
	for _, s := range k.all.All() {
		if s.group == group {
			n++
		}
	}
	return n
}

func (k buying) checkDisks(_ *server, o order) *refusal {
	for _, d := range o.BlockDevices {
		switch {
		case d.Source == "volume":
			v := k.volumes[d.UUID]
			if v == nil {
				return bad("Block Device Mapping is Invalid: failed to get volume %s.", d.UUID)
			}
			if v.state(k.Cloud, k.now) != "available" {
				return bad("Invalid volume: volume '%s' status must be 'available'. Currently in '%s' status.", d.UUID, v.state(k.Cloud, k.now))
			}
		case d.Destination == "volume":
			if d.Type != "" && !slices.Contains(k.stock.VolumeTypes, d.Type) && !k.any {
				return bad("The requested volume type %s could not be found.", d.Type)
			}
		}
	}
	return nil
}

func (k buying) checkNetworks(s *server, o order) *refusal {
	var nics []nic
	var word string
	if json.Unmarshal(o.Networks, &word) == nil && word == "none" {
		return nil
	}
	_ = json.Unmarshal(o.Networks, &nics)
	if len(o.Networks) == 0 {
		own := slices.DeleteFunc(slices.Clone(k.stock.Networks), func(n Network) bool { return n.External })
		if len(own) > 1 {
			return &refusal{http.StatusConflict, "conflictingRequest", "Multiple possible networks found, use a Network ID to be more specific."}
		}
		for _, n := range own {
			nics = append(nics, nic{UUID: n.ID})
		}
	}
	for _, n := range nics {
		if why := k.plug(s, n); why != nil {
			return why
		}
	}
	return nil
}

// plug checks a port that was created separately, or creates a port.
func (k buying) plug(s *server, n nic) *refusal {
	if n.Port == "" {
		if _, ok := k.network(n.UUID); !ok {
			return bad("Network %s could not be found.", n.UUID)
		}
		p, err := portCalls{neutron{k.call}}.addPort(portOrder{NetworkID: n.UUID, project: s.project.ID})
		if err != nil {
			return bad("%s", err.message)
		}
		p.auto = true
		s.ports = append(s.ports, p.id)
		return nil
	}
	p := k.ports[n.Port]
	switch {
	case p == nil:
		// nova.exception.PortNotFound: "Port id %(port_id)s could not be found."
		return bad("Port id %s could not be found.", n.Port)
	case p.device != "":
		return &refusal{http.StatusConflict, "conflictingRequest", fmt.Sprintf("Port %s is still in use.", n.Port)}
	case len(p.fixed) == 0:
		return bad("Port %s requires a FixedIP in order to be used.", n.Port)
	}
	s.ports = append(s.ports, p.id)
	return nil
}
