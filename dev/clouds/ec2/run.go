package ec2

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// mostUserData is the maximum size of user data, in bytes.
const mostUserData = 16384

// order is a validated request for an instance.
type order struct {
	form.Form
	image   Image
	typ     Type
	region  string
	zone    string
	subnets []Subnet // one for each network interface
	host    string
}

// runInstances creates one instance, because machines request only one.
func runInstances(c *Cloud, in *call) ([]node, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	token := launchTokens{c.store}.tokenOf(in)
	if i, ok, no := (launchTokens{c.store}).repeated(in, token); ok || no != nil {
		return c.told(i, no)
	}
	o, no := c.check(in)
	if no != nil {
		return nil, no
	}
	c.tokens[token] = answered{request: in.Values.Encode()} // also for a launch that is refused below
	if no = c.room(o); no != nil {
		return nil, no
	}
	i, no := c.launch(in, o)
	if no == nil {
		c.tokens[token] = answered{request: in.Values.Encode(), ids: []string{i.ID}}
	}
	return c.told(i, no)
}

func (c *Cloud) told(i instance, no *failure) ([]node, *failure) {
	if no != nil {
		return nil, no
	}
	return c.reservation(i, c.clock.Now()), nil
}

// tokenOf is the key of a launch's token. A token is valid only in the zone of the request, or of its subnet: the same token in
// another zone is another launch.
func (c launchTokens) tokenOf(in *call) string {
	zone, subnet := in.Get("Placement.AvailabilityZone"), in.Get("SubnetId")
	for _, n := range in.Each("NetworkInterface") {
		subnet = cmp.Or(subnet, n.Get("SubnetId"))
	}
	if s, ok := c.subnet(in.region, zone, subnet); ok && zone == "" && subnet != "" {
		zone = s.Zone
	}
	return in.account + "/" + zone + "/" + in.Get("ClientToken")
}

// repeated is the instance that was created with the token. A token that was used for a different request is refused, even if
// that request was refused for lack of capacity.
func (c launchTokens) repeated(in *call, token string) (instance, bool, *failure) {
	before, ok := c.tokens[token]
	if !ok || in.Get("ClientToken") == "" {
		return instance{}, false, nil
	}
	if before.request != in.Values.Encode() {
		return instance{}, false, refuse("IdempotentParameterMismatch", "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).")
	}
	if len(before.ids) == 0 {
		return instance{}, false, nil
	}
	i, ok := c.instances.Get(before.ids[0])
	return i, ok, nil
}

// check refuses what AWS refuses before it checks capacity.
func (c launcher) check(in *call) (order, *failure) {
	o := order{Form: in.Form, region: in.region, zone: in.Get("Placement.AvailabilityZone")}
	for _, check := range []func(*order) *failure{
		c.checkCounts, checkUserData, c.checkImage, c.checkType, c.checkZoneName, c.checkNetwork, c.checkZone, c.checkNames, c.checkPlacement, checkDisks, checkTags, checkMarket,
	} {
		if no := check(&o); no != nil {
			return o, no
		}
	}
	return o, nil
}

func (c launcher) checkCounts(o *order) *failure {
	for _, key := range []string{"MinCount", "MaxCount", "ImageId"} {
		if o.Get(key) == "" {
			return refuse("MissingParameter", "The request must contain the parameter %s", key)
		}
	}
	if o.Number("MinCount") != 1 || o.Number("MaxCount") != 1 {
		return refuse("InvalidParameterValue", "This simulator creates one instance at a time")
	}
	return nil
}

func checkUserData(o *order) *failure {
	raw, err := base64.StdEncoding.DecodeString(o.Get("UserData"))
	if err != nil {
		return refuse("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data")
	}
	if len(raw) > mostUserData {
		return refuse("InvalidParameterValue", "User data is limited to %d bytes", mostUserData)
	}
	return nil
}

func (c launcher) checkImage(o *order) *failure {
	id := o.Get("ImageId")
	if !strings.HasPrefix(id, "ami-") {
		return refuse("InvalidAMIID.Malformed", "Invalid id: %q (expecting \"ami-...\")", id)
	}
	image, ok := c.image(id)
	if !ok {
		return refuse("InvalidAMIID.NotFound", "The image id '[%s]' does not exist", id)
	}
	o.image = image
	return nil
}

func (c *store) image(id string) (Image, bool) {
	for _, image := range c.options.Inventory.Images {
		if image.ID == id {
			return image, true
		}
	}
	return anyImage(id), c.options.AcceptAny
}

func (c launcher) checkType(o *order) *failure {
	t, ok := c.typeNamed(o.Get("InstanceType"))
	if !ok {
		return refuse("InvalidParameterValue", "Invalid value '%s' for InstanceType.", o.Get("InstanceType"))
	}
	o.typ = t
	return nil
}

func (c *store) typeNamed(name string) (Type, bool) {
	for _, t := range c.options.Inventory.Types {
		if t.Name == name {
			return t, true
		}
	}
	return anyType(name), c.options.AcceptAny && name != ""
}

func (c launcher) checkNetwork(o *order) *failure {
	interfaces := o.Each("NetworkInterface")
	if len(interfaces) == 0 {
		s, ok := c.defaultSubnet(o.region, o.zone)
		if id := o.Get("SubnetId"); id != "" {
			s, ok = c.subnet(o.region, o.zone, id)
		}
		if !ok {
			return refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", o.Get("SubnetId"))
		}
		o.subnets = []Subnet{s}
		return nil
	}
	for _, n := range interfaces {
		s, ok := c.defaultSubnet(o.region, o.zone)
		if id := n.Get("SubnetId"); id != "" {
			s, ok = c.subnet(o.region, o.zone, id)
		}
		if !ok {
			return refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", n.Get("SubnetId"))
		}
		for _, id := range n.List("SecurityGroupId") {
			if !c.options.AcceptAny && !slices.ContainsFunc(c.options.Inventory.SecurityGroups, func(g SecurityGroup) bool { return g.ID == id }) {
				return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
			}
		}
		if n.Yes("AssociatePublicIpAddress") && len(interfaces) > 1 {
			return refuse("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		}
		o.subnets = append(o.subnets, s)
	}
	if int64(len(interfaces)) > max(1, o.typ.Interfaces) {
		return refuse("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", len(interfaces), o.typ.Name)
	}
	return nil
}

// subnet is the subnet with the ID in a region. A generated subnet is in the zone, if there is one.
func (c *store) subnet(region, zone, id string) (Subnet, bool) {
	for _, s := range (generator{c}).subnetsOf(region) {
		if s.ID == id {
			return s, true
		}
	}
	if !c.options.AcceptAny || id == "" {
		return Subnet{}, false
	}
	return c.foreign.subnetLike(id, region, Subnet{ID: id, Zone: zone}), true
}

func (c *store) defaultSubnet(region, zone string) (Subnet, bool) {
	for _, s := range (generator{c}).subnetsOf(region) {
		if s.Default && (zone == "" || s.Zone == zone) {
			return s, true
		}
	}
	if !c.options.AcceptAny {
		return Subnet{}, false
	}
	return c.foreign.subnetLike("default in "+region+zone, region, Subnet{Zone: zone, Default: true}), true
}

func (c launcher) checkZoneName(o *order) *failure {
	known := slices.ContainsFunc(c.options.Inventory.Zones, func(z Zone) bool { return z.Name == o.zone })
	if o.zone != "" && !known && !c.options.AcceptAny {
		return refuse("InvalidParameterValue", "Invalid availability zone: [%s]", o.zone)
	}
	return nil
}

func (c launcher) checkZone(o *order) *failure {
	switch {
	case o.zone == "":
		o.zone = o.subnets[0].Zone
	case o.zone != o.subnets[0].Zone && !c.options.AcceptAny:
		return refuse("InvalidParameterValue", "Value (%s) for parameter availabilityZone is invalid. Subnet %s is in the availability zone %s", o.zone, o.subnets[0].ID, o.subnets[0].Zone)
	}
	if len(o.typ.Zones) > 0 && !slices.Contains(o.typ.Zones, o.zone) {
		return refuse("Unsupported", "Your requested instance type (%s) is not supported in your requested Availability Zone (%s). Please retry your request by not specifying an Availability Zone or choosing %s.", o.typ.Name, o.zone, strings.Join(o.typ.Zones, ", "))
	}
	return nil
}

func (c launcher) checkNames(o *order) *failure {
	if c.options.AcceptAny {
		return nil
	}
	inv := c.options.Inventory
	if key := o.Get("KeyName"); key != "" && !slices.Contains(inv.KeyPairs, key) {
		return refuse("InvalidKeyPair.NotFound", "The key pair '%s' does not exist", key)
	}
	name := o.Get("IamInstanceProfile.Name")
	if name == "" {
		_, name, _ = strings.Cut(o.Get("IamInstanceProfile.Arn"), ":instance-profile/")
	}
	if name != "" && !slices.Contains(inv.InstanceProfiles, name) {
		return refuse("InvalidParameterValue", "Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", name)
	}
	if group := o.Get("Placement.GroupName") + o.Get("Placement.GroupId"); group != "" && !slices.Contains(inv.PlacementGroups, group) {
		return refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", group)
	}
	id := o.Get("CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
	if id != "" && !slices.ContainsFunc(inv.Reservations, func(r Reservation) bool { return r.ID == id }) {
		return refuse("InvalidCapacityReservationId.NotFound", "The capacity reservation ID '%s' does not exist", id)
	}
	return nil
}

func checkDisks(o *order) *failure {
	seen := map[string]bool{}
	for _, d := range o.Each("BlockDeviceMapping") {
		name := d.Get("DeviceName")
		switch {
		case name == "":
			return refuse("MissingParameter", "The request must contain the parameter deviceName")
		case seen[name]:
			return refuse("InvalidBlockDeviceMapping", "The device '%s' is used in more than one block-device mapping", name)
		case d.Get("Ebs.Iops") != "" && d.Get("Ebs.VolumeType") != "io1" && d.Get("Ebs.VolumeType") != "io2" && d.Get("Ebs.VolumeType") != "gp3":
			return refuse("InvalidParameterCombination", "The parameter iops is not supported for %s volumes.", d.Get("Ebs.VolumeType"))
		case d.Get("Ebs.VolumeType") == "io1" && d.Get("Ebs.Iops") == "":
			return refuse("MissingParameter", "The request must contain the parameter iops")
		case d.Get("Ebs.Throughput") != "" && d.Get("Ebs.VolumeType") != "gp3":
			return refuse("InvalidParameterCombination", "The throughput parameter is not supported for %s volumes.", d.Get("Ebs.VolumeType"))
		}
		seen[name] = true
	}
	return nil
}

// mostTags is the maximum number of an instance's tags.
const mostTags = 50

func checkTags(o *order) *failure {
	for _, spec := range o.Each("TagSpecification") {
		tags := spec.Tags("Tag")
		if len(tags) > mostTags {
			return refuse("TagLimitExceeded", "The maximum number of Tags for a resource has been reached.")
		}
		if no := checkTagTexts(tags); no != nil {
			return no
		}
	}
	return nil
}

func checkTagTexts(tags map[string]string) *failure {
	for k, v := range tags {
		switch {
		case k == "" || len(k) > 128:
			return refuse("InvalidParameterValue", "Tag key must be between 1 and 128 characters: %q", k)
		case len(v) > 256:
			return refuse("InvalidParameterValue", "Tag value exceeds the maximum length of 256 characters")
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			return refuse("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		}
	}
	return nil
}

func checkMarket(o *order) *failure {
	market := o.Get("InstanceMarketOptions.MarketType")
	switch market {
	case "", "spot", "capacity-block":
	default:
		return refuse("InvalidParameterValue", "Value (%s) for parameter marketType is invalid.", market)
	}
	if price := o.Get("InstanceMarketOptions.SpotOptions.MaxPrice"); market == "spot" && strings.Trim(price, "0.") == "" && price != "" {
		return refuse("SpotMaxPriceTooLow", "Your Spot request price of %s is lower than the minimum required Spot request fulfillment price of 0.0386.", price)
	}
	return nil
}

// tagsFor returns the tags that a request has for resources of the kind.
func tagsFor(f form.Form, kind string) map[string]string {
	tags := map[string]string{}
	for _, s := range f.Each("TagSpecification") {
		if s.Get("ResourceType") == kind {
			maps.Copy(tags, s.Tags("Tag"))
		}
	}
	return tags
}

// launch creates the instance and its dependants; the caller holds the lock.
func (c launcher) launch(in *call, o order) (instance, *failure) {
	now := c.clock.Now()
	i := instance{
		ID: newID("i"), Reservation: newID("r"), Account: in.account, Request: in.Form, Zone: o.zone, Type: o.typ.Name, Host: o.host,
		Tags: tagsFor(in.Form, "instance"), Made: now.Truncate(time.Second), Wish: "run", Since: now,
	}
	asked := in.Each("NetworkInterface")
	if len(asked) == 0 {
		asked = []form.Form{in.In("None")}
	}
	var made []networkInterface
	for n, f := range asked {
		nic, ok := c.newInterface(i, f, o.subnets[n], int64(n))
		if !ok {
			return i, exhaustions["zone"]
		}
		nic.Tags = tagsFor(in.Form, "network-interface")
		c.interfaces.Put(nic.ID, nic)
		made = append(made, nic)
	}
	slices.SortStableFunc(made, func(a, b networkInterface) int { return int(a.Device - b.Device) })
	for _, nic := range made {
		i.Interfaces = append(i.Interfaces, nic.ID)
	}
	c.newVolumes(&i, o)
	c.instances.Put(i.ID, i)
	return i, nil
}

func (c launcher) newInterface(i instance, f form.Form, s Subnet, n int64) (networkInterface, bool) {
	address, ok := c.freeAddress(s)
	if !ok {
		return networkInterface{}, false
	}
	nic := networkInterface{
		ID: newID("eni"), Account: i.Account, Subnet: s, Instance: i.ID, Device: n, Card: f.Number("NetworkCardIndex"), Address: address,
		Kind: f.Get("InterfaceType"), Description: f.Get("Description"), Groups: f.List("SecurityGroupId"), Checks: true,
		Goes: f.Get("DeleteOnTermination") != "false", PrimaryIPv6: f.Yes("PrimaryIpv6"),
		IPv6: c.freeIPv6(s, f.Number("Ipv6AddressCount"), false), Prefixes: c.freeIPv6(s, f.Number("Ipv6PrefixCount"), true),
	}
	if nic.Kind == "" {
		nic.Kind = "interface"
	}
	if f.Get("DeviceIndex") != "" {
		nic.Device = f.Number("DeviceIndex")
	}
	if f.Yes("AssociatePublicIpAddress") || f.Yes("AssociateCarrierIpAddress") {
		nic.Public = c.publicAddress()
	}
	return nic, true
}

func (c launcher) newVolumes(i *instance, o order) {
	asked := map[string]form.Form{o.image.RootDevice: o.In("None")}
	for _, d := range o.Each("BlockDeviceMapping") {
		if d.Has("Ebs") {
			asked[d.Get("DeviceName")] = d.In("Ebs")
		}
	}
	for device, ebs := range asked {
		v := volume{
			ID: newID("vol"), Account: i.Account, Zone: i.Zone, Device: device, Instance: i.ID, Ebs: ebs, Size: max(8, ebs.Number("VolumeSize")),
			Kind: ebs.Get("VolumeType"), Tags: tagsFor(o.Form, "volume"), Made: i.Made, Goes: ebs.Get("DeleteOnTermination") != "false",
		}
		if v.Kind == "" {
			v.Kind = "gp2"
		}
		c.volumes.Put(v.ID, v)
		i.Volumes = append(i.Volumes, attachedVolume{device, v.ID})
	}
	slices.SortFunc(i.Volumes, func(a, b attachedVolume) int { return strings.Compare(a.Device, b.Device) })
}
