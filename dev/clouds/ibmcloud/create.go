package ibmcloud

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// Prototype is a request for an instance, as far as machine controllers write one. An unknown field is refused.
type Prototype struct {
	Name            string             `json:"name"`
	Zone            Ref                `json:"zone"`
	VPC             Ref                `json:"vpc"`
	Image           Ref                `json:"image"`
	Profile         Ref                `json:"profile"`
	ResourceGroup   Ref                `json:"resource_group"`
	Primary         InterfacePrototype `json:"primary_network_interface"`
	Boot            BootPrototype      `json:"boot_volume_attachment"`
	PlacementTarget *Ref               `json:"placement_target,omitempty"`
	UserData        string             `json:"user_data,omitempty"`
}

// Ref names a resource.
type Ref struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	CRN  string `json:"crn,omitempty"`
}

// InterfacePrototype is a network interface in a [Prototype].
type InterfacePrototype struct {
	Name           string `json:"name,omitempty"`
	Subnet         Ref    `json:"subnet"`
	SecurityGroups []Ref  `json:"security_groups,omitempty"`
}

// BootPrototype is the boot volume, with its attachment, in a [Prototype].
type BootPrototype struct {
	Name   string `json:"name,omitempty"`
	Delete *bool  `json:"delete_volume_on_instance_delete,omitempty"`
	Volume struct {
		Name      string `json:"name,omitempty"`
		Profile   Ref    `json:"profile"`
		Capacity  int64  `json:"capacity,omitempty"`
		IOPS      int64  `json:"iops,omitempty"`
		Bandwidth int64  `json:"bandwidth,omitempty"`
		Key       *Ref   `json:"encryption_key,omitempty"`
	} `json:"volume"`
}

func createInstance(c *Cloud, in *call) (any, *failure) {
	var p Prototype
	d := json.NewDecoder(bytes.NewReader(in.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return nil, refuse(http.StatusBadRequest, "invalid_request_field", "A field provided in the request is not valid: %v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, no := c.launch(in.account, p)
	if no != nil {
		return nil, no
	}
	return c.shown(i), nil
}

// launch creates an instance. The caller holds the lock.
func (c launcher) launch(account string, p Prototype) (instance, *failure) {
	subnet, no := c.check(account, p)
	if no != nil {
		return instance{}, no
	}
	counts, used := map[string]int{}, map[string]bool{}
	for _, i := range c.instances.All() {
		used[i.Address] = true
		if i.Account == account && c.status(i) != failed {
			counts[i.Prototype.Zone.Name]++
			counts[i.Prototype.Zone.Name+"/"+i.Prototype.Profile.Name]++
		}
	}
	address, ok := double.FreeAddress(subnet.CIDR, 4, used)
	if !ok {
		return instance{}, bad("primary_network_interface.subnet", "The subnet with ID %s has insufficient available IPv4 addresses.", subnet.ID)
	}
	zone, now := p.Zone.Name, c.clock.Now()
	i := instance{
		ID: idIn(zone, double.UUID(), "_"), Account: account, Name: p.Name, Prototype: p, Interface: p.Primary.Name, Attachment: p.Boot.Name, Address: address, Made: now, Since: now, Wish: wishRun,
		Volume: volume{ID: idIn(c.options.Inventory.Region, double.UUID(), "-"), Name: p.Boot.Volume.Name, Account: account},
	}
	for _, name := range []*string{&i.Name, &i.Interface, &i.Attachment, &i.Volume.Name} { // random words, in VPC
		if *name == "" {
			*name = "words-" + double.Hex(12)
		}
	}
	if c.Full(counts, zone, zone+"/"+p.Profile.Name) {
		i.Fails = noCapacity
	}
	c.instances.Put(i.ID, i)
	return i, nil
}

var nameForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

// check refuses what VPC refuses.
func (c launcher) check(account string, p Prototype) (Subnet, *failure) {
	v := c.options.Inventory
	for target, name := range map[string]string{
		"name": p.Name, "primary_network_interface.name": p.Primary.Name, "boot_volume_attachment.name": p.Boot.Name, "boot_volume_attachment.volume.name": p.Boot.Volume.Name,
	} {
		if name != "" && !nameForm.MatchString(name) {
			return Subnet{}, bad(target, "The name %q is not valid.", name)
		}
	}
	for _, i := range c.instances.All() {
		switch {
		case i.Account != account || c.status(i) == deleted:
		case i.Name == p.Name:
			return Subnet{}, notUnique("name", p.Name)
		case i.Volume.Name == p.Boot.Volume.Name:
			return Subnet{}, notUnique("boot_volume_attachment.volume.name", p.Boot.Volume.Name)
		}
	}
	for _, o := range c.orphans {
		if o.Account == account && o.Name == p.Boot.Volume.Name {
			return Subnet{}, notUnique("boot_volume_attachment.volume.name", o.Name)
		}
	}
	n := slices.IndexFunc(v.Subnets, func(s Subnet) bool { return s.ID == p.Primary.Subnet.ID })
	switch {
	case !slices.Contains(v.Zones, p.Zone.Name):
		return Subnet{}, bad("zone.name", "The zone %q does not exist.", p.Zone.Name)
	case !has(v.Images, p.Image.ID) && !c.options.AcceptAny:
		return Subnet{}, missing("image", p.Image.ID)
	case !has(v.VPCs, p.VPC.ID):
		return Subnet{}, missing("vpc", p.VPC.ID)
	case !has(v.ResourceGroups, p.ResourceGroup.ID):
		return Subnet{}, missing("resource_group", p.ResourceGroup.ID)
	case n < 0 || v.Subnets[n].VPC != p.VPC.ID:
		return Subnet{}, missing("subnet", p.Primary.Subnet.ID)
	case v.Subnets[n].Zone != p.Zone.Name:
		return Subnet{}, refuse(http.StatusBadRequest, "invalid_zone", "Please check whether the resources you are requesting are in the same zone.")
	}
	if p.PlacementTarget != nil && !has(v.DedicatedHosts, p.PlacementTarget.ID) {
		return Subnet{}, missing("dedicated_host", p.PlacementTarget.ID)
	}
	for _, g := range p.Primary.SecurityGroups {
		if !has(v.SecurityGroups, g.ID) {
			return Subnet{}, missing("security_group", g.ID)
		}
	}
	return v.Subnets[n], c.checkSize(account, p)
}

func has(all []Resource, id string) bool {
	return slices.ContainsFunc(all, func(r Resource) bool { return r.ID == id })
}

// volumeProfiles are the profiles of boot volumes.
var volumeProfiles = []string{"general-purpose", "5iops-tier", "10iops-tier", "custom", "sdp"}

// checkSize checks profile, boot volume and quotas. Instances on dedicated hosts do not count.
func (c launcher) checkSize(account string, p Prototype) *failure {
	profile, ok := c.profile(p.Profile.Name)
	v := p.Boot.Volume
	switch {
	case !ok:
		return bad("profile.name", "The profile %q does not exist.", p.Profile.Name)
	case v.Profile.Name != "" && !slices.Contains(volumeProfiles, v.Profile.Name):
		return bad("boot_volume_attachment.volume.profile.name", "The volume profile %q does not exist.", v.Profile.Name)
	case v.Capacity != 0 && (v.Capacity < 10 || v.Capacity > 32000 || v.Capacity > 250 && v.Profile.Name != "sdp"):
		return bad("boot_volume_attachment.volume.capacity", "The volume capacity must be at least the size of the image and at most that of the profile.")
	case v.IOPS != 0 && v.Profile.Name != "custom" && v.Profile.Name != "sdp":
		return bad("boot_volume_attachment.volume.iops", "The profile %s determines the iops.", v.Profile.Name)
	}
	vcpus, gpus := profile.VCPUs, profile.GPUs
	for _, i := range c.instances.All() {
		if other, ok := c.profile(i.Prototype.Profile.Name); ok && i.Account == account && i.Prototype.PlacementTarget == nil {
			vcpus, gpus = vcpus+other.VCPUs, gpus+other.GPUs
		}
	}
	switch q := c.options.Inventory.Quotas; {
	case p.PlacementTarget != nil:
	case q.GPUs > 0 && gpus > q.GPUs:
		return overQuota("GPU")
	case q.VCPUs > 0 && vcpus > q.VCPUs:
		return overQuota("vCPU")
	}
	return nil
}

// profile is the profile with a name.
func (c *store) profile(name string) (Profile, bool) {
	for _, p := range c.options.Inventory.Profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{Name: name, VCPUs: 4, MemoryGiB: 16, Arch: "amd64"}, c.options.AcceptAny
}
