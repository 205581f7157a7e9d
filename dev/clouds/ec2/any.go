package ec2

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// foreign are the generated objects for names in requests that are not in the inventory. A generated object stays the same, so
// that a repeated request has the same answer.
type foreign struct {
	mu        sync.Mutex
	subnets   []Subnet
	by        map[string]int // index of the subnet that was generated for filters or a zone
	balancers []LoadBalancer
}

// regionForm matches the region at the beginning of a zone's name, in "us-east-1-bos-1a" as well as in
// "eu-central-1b".
var regionForm = regexp.MustCompile(`^[a-z]+(-[a-z]+)+-\d+`)

// region is the region of a zone.
func (c *store) region(zone string) string {
	v := c.options.Inventory
	if !c.options.AcceptAny || slices.ContainsFunc(v.Zones, func(z Zone) bool { return z.Name == zone }) {
		return v.Region
	}
	return cmp.Or(regionForm.FindString(zone), v.Region)
}

// elsewhere reports whether a call is for another region than the region of the inventory.
func (c generator) elsewhere(region string) bool {
	return c.options.AcceptAny && region != "" && region != c.options.Inventory.Region
}

// kindOfZone derives the type of an unknown zone from its name.
func kindOfZone(name string) string {
	switch rest := strings.TrimPrefix(name, regionForm.FindString(name)); {
	case strings.HasPrefix(rest, "-wl"):
		return "wavelength-zone"
	case strings.HasPrefix(rest, "-"):
		return "local-zone"
	}
	return ""
}

// idOf derives an ID from a request.
func idOf(kind string, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return kind + "-0" + hex.EncodeToString(sum[:8])
}

// keyOf is a key for the filters of a call.
func keyOf(in *call) string {
	text := in.region
	for _, f := range in.Each("Filter") {
		text += fmt.Sprintf("\x00%s=%q", f.Get("Name"), f.List("Value"))
	}
	return text
}

// asks is the value, without wildcards, for one of the names in the filters of a call; empty if the filters have none of the
// names.
func asks(in *call, names ...string) string {
	for _, f := range in.Each("Filter") {
		if slices.Contains(names, f.Get("Name")) {
			for _, v := range f.List("Value") {
				return strings.NewReplacer("*", "", "?", "", `\`, "").Replace(v)
			}
		}
	}
	return ""
}

// tagsAsked are the tags in the filters of a call.
func tagsAsked(in *call) map[string]string {
	tags := map[string]string{}
	for _, f := range in.Each("Filter") {
		if key, ok := strings.CutPrefix(f.Get("Name"), "tag:"); ok {
			tags[key] = asks(in, f.Get("Name"))
		}
	}
	return tags
}

// subnetLike stores a generated subnet under a key. Each gets its own addresses, because nodes are named after their
// addresses.
func (f *foreign) subnetLike(key, region string, s Subnet) Subnet {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n, ok := f.by[key]; ok {
		return f.subnets[n]
	}
	n := len(f.subnets)
	s.ID = cmp.Or(s.ID, idOf("subnet", key))
	s.Zone = cmp.Or(s.Zone, region+"a")
	s.Network = cmp.Or(s.Network, idOf("vpc", region))
	s.CIDR = cmp.Or(s.CIDR, fmt.Sprintf("10.%d.%d.0/20", 64+n/16%192, n%16*16))
	s.IPv6 = fmt.Sprintf("2600:1f18:%x::/64", 0x100+n)
	f.subnets = append(f.subnets, s)
	if f.by == nil {
		f.by = map[string]int{}
	}
	f.by[key] = n
	return s
}

// subnetsOf are the subnets of a region.
func (c generator) subnetsOf(region string) (all []Subnet) {
	if !c.elsewhere(region) {
		all = slices.Clone(c.options.Inventory.Subnets)
	}
	c.foreign.mu.Lock()
	defer c.foreign.mu.Unlock()
	for _, s := range c.foreign.subnets {
		if c.region(s.Zone) == cmp.Or(region, c.options.Inventory.Region) {
			all = append(all, s)
		}
	}
	return all
}

// subnetAsked is the subnet that the filters of a call describe.
func (c generator) subnetAsked(in *call) Subnet {
	return c.foreign.subnetLike(keyOf(in), in.region, Subnet{
		ID: asks(in, "subnet-id"), Network: asks(in, "vpc-id"), Zone: asks(in, "availabilityZone", "availability-zone"),
		CIDR: asks(in, "cidrBlock", "cidr-block", "cidr"), Tags: tagsAsked(in),
	})
}

// groupAsked is the security group that the filters of a call describe.
func groupAsked(in *call) SecurityGroup {
	tags := tagsAsked(in)
	return SecurityGroup{
		ID: cmp.Or(asks(in, "group-id"), idOf("sg", keyOf(in))), Name: cmp.Or(asks(in, "group-name"), tags["Name"], "accepted"),
		Network: cmp.Or(asks(in, "vpc-id"), idOf("vpc", in.region)), Tags: tags,
	}
}

// imageAsked is the image that the filters of a call describe.
func imageAsked(in *call) Image {
	i := anyImage(cmp.Or(asks(in, "image-id"), idOf("ami", keyOf(in))))
	i.Name, i.Tags, i.Arch = asks(in, "name"), tagsAsked(in), cmp.Or(asks(in, "architecture"), i.Arch)
	return i
}

// anyImage is an image of which only the ID is known.
func anyImage(id string) Image {
	return Image{ID: id, RootDevice: "/dev/xvda", Arch: "x86_64", Created: "2026-01-01T00:00:00.000Z"}
}

// arm matches the families of types with AWS's own processors: m6g, c7gn, r8gd, and a1.
var arm = regexp.MustCompile(`^(a1|[a-z]+\d+g[a-z]*)$`)

// memoryOf is the memory per vCPU in GiB, for families in which it is not 4.
var memoryOf = map[byte]int64{'c': 2, 'r': 8, 'x': 16}

// anyType is a type that is known by name only: "m6i.2xlarge" has 8 vCPUs with 4 GiB each.
func anyType(name string) Type {
	t := Type{Name: name, VCPUs: 2, Arch: "x86_64", Interfaces: 15, AddressesEach: 30}
	_, size, _ := strings.Cut(name, ".")
	if of, ok := strings.CutSuffix(size, "xlarge"); ok {
		n, _ := strconv.ParseInt(cmp.Or(of, "1"), 10, 64)
		t.VCPUs = 4 * max(1, n)
	}
	each := int64(4)
	if name != "" && memoryOf[name[0]] > 0 {
		each = memoryOf[name[0]]
	}
	t.MemoryMiB = t.VCPUs * each * 1024
	if arm.MatchString(family(name)) {
		t.Arch = "arm64"
	}
	return t
}

// networkNamed is the VPC with an ID, or with the ID of its DHCP options.
func networkNamed(region, id string) Network {
	id = "vpc-" + strings.TrimPrefix(strings.TrimPrefix(id, "vpc-"), "dopt-")
	return Network{ID: id, CIDR: "10.0.0.0/8", Domains: []string{domainOf(region)}}
}

// networksNamed are the VPCs of a region, and generated ones for unknown IDs.
func (c generator) networksNamed(in *call, ids []string, id func(Network) string) []Network {
	if !c.options.AcceptAny {
		return c.options.Inventory.Networks
	}
	var all []Network
	if !c.elsewhere(in.region) {
		all = slices.Clone(c.options.Inventory.Networks)
	}
	for _, one := range ids {
		if !slices.ContainsFunc(all, func(n Network) bool { return id(n) == one }) {
			all = append(all, networkNamed(in.region, one))
		}
	}
	return all
}

// zonesNamed are the zones of a region, and generated ones for unknown names.
func (c generator) zonesNamed(in *call, names []string) []Zone {
	if !c.options.AcceptAny {
		return c.options.Inventory.Zones
	}
	var all []Zone
	if !c.elsewhere(in.region) {
		all = slices.Clone(c.options.Inventory.Zones)
	} else if len(names) == 0 {
		names = []string{in.region + "a", in.region + "b", in.region + "c"}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(z Zone) bool { return z.Name == name }) {
			all = append(all, Zone{Name: name, Type: kindOfZone(name)})
		}
	}
	return all
}

// balancersOf are the load balancers, and generated ones for unknown names of a kind.
func (c generator) balancersOf(kind string, names ...string) []LoadBalancer {
	c.foreign.mu.Lock()
	defer c.foreign.mu.Unlock()
	all := slices.Concat(c.options.Inventory.LoadBalancers, c.foreign.balancers)
	for _, name := range names {
		if !c.options.AcceptAny || slices.ContainsFunc(all, func(b LoadBalancer) bool { return b.Type == kind && b.Name == name }) {
			continue
		}
		b := LoadBalancer{Name: name, Type: kind}
		if kind == "network" {
			b.TargetGroups = []TargetGroup{{Name: name + "-nodes", Target: "ip"}}
		}
		c.foreign.balancers, all = append(c.foreign.balancers, b), append(all, b)
	}
	return all
}
