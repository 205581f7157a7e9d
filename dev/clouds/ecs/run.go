package ecs

import (
	"cmp"
	"encoding/base64"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// The limits of ECS.
const (
	mostUserData = 32 << 10 // bytes
	mostToken    = 64
	mostTags     = 20
)

// order is a validated request for an instance.
type order struct {
	form.Form
	account string
	typ     Type
	zone    string
	vSwitch VSwitch
}

// runInstances creates one instance, because machines request only one.
func runInstances(c *Cloud, in *call) (object, *failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	token := in.account + "/" + in.Get("ClientToken")
	if i, ok, no := c.repeated(in, token); ok || no != nil {
		return told(i, no)
	}
	o, no := c.check(in)
	if no != nil {
		return nil, no
	}
	if in.Get("ClientToken") != "" {
		c.tokens[token] = answered{request: requestOf(in)} // also for a request that is refused below
	}
	if no = c.room(o); no != nil {
		return nil, no
	}
	i, no := c.launch(o)
	if no == nil && in.Get("ClientToken") != "" {
		c.tokens[token] = answered{request: requestOf(in), id: i.ID}
	}
	return told(i, no)
}

func told(i instance, no *failure) (object, *failure) {
	if no != nil {
		return nil, no
	}
	return object{"InstanceIdSets": object{"InstanceIdSet": []string{i.ID}}, "OrderId": "1", "TradePrice": 0.1}, nil
}

// requestOf is a request without the parameters of the older signature, which differ in each repetition.
func requestOf(in *call) string {
	values := map[string][]string{}
	for key, value := range in.Values {
		if !slices.Contains([]string{"Signature", "SignatureNonce", "SignatureMethod", "SignatureVersion", "Timestamp", "AccessKeyId", "Format"}, key) {
			values[key] = value
		}
	}
	return sorted(values)
}

// repeated is the instance that was created with the token. A token that was used for a different request is
// refused, even if that request was refused for lack of capacity.
func (c launcher) repeated(in *call, token string) (instance, bool, *failure) {
	before, ok := c.tokens[token]
	if !ok || in.Get("ClientToken") == "" {
		return instance{}, false, nil
	}
	if before.request != requestOf(in) {
		return instance{}, false, refuse("IdempotentParameterMismatch", "Request uses a client token in a previous request but is not identical to that request.")
	}
	if before.id == "" {
		return instance{}, false, nil
	}
	return instance{ID: before.id}, true, nil
}

// check refuses what ECS refuses before it checks capacity.
func (c launcher) check(in *call) (order, *failure) {
	o := order{Form: in.Form, account: in.account, zone: in.Get("ZoneId")}
	if no := in.regional(); no != nil {
		return o, no
	}
	for _, check := range []func(*order) *failure{
		checkCounts, checkNames, checkUserData, checkTags, c.checkImage, c.checkType, c.checkNetwork, c.checkZone, c.checkResources, checkDisks, checkTerms,
	} {
		if no := check(&o); no != nil {
			return o, no
		}
	}
	return o, nil
}

func checkCounts(o *order) *failure {
	switch {
	case len(o.Get("ClientToken")) > mostToken:
		return refuse("InvalidParameter.ClientToken", "The specified ClientToken is not valid.")
	case o.Get("Amount") != "" && o.Number("Amount") != 1:
		return refuse("InvalidAmount", "This simulator creates one instance at a time.")
	}
	return nil
}

var (
	instanceName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9:_.-]{1,127}$`)
	hostName     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,62}[A-Za-z0-9]$`)
)

func checkNames(o *order) *failure {
	switch {
	case o.Get("InstanceName") != "" && !instanceName.MatchString(o.Get("InstanceName")):
		return refuse("InvalidInstanceName.Malformed", "The specified parameter \"InstanceName\" is not valid.")
	case o.Get("HostName") != "" && !hostName.MatchString(o.Get("HostName")):
		return refuse("InvalidHostName.Malformed", "The specified parameter \"HostName\" is not valid.")
	}
	return nil
}

func checkUserData(o *order) *failure {
	raw, err := base64.StdEncoding.DecodeString(o.Get("UserData"))
	if err != nil {
		return refuse("InvalidUserData.Base64FormatInvalid", "The specified UserData is not a valid Base64 text.")
	}
	if len(raw) > mostUserData {
		return refuse("InvalidUserData.SizeExceeded", "The specified UserData exceeds the maximum size.")
	}
	return nil
}

func checkTags(o *order) *failure {
	if len(o.Each("Tag")) > mostTags {
		return refuse("InvalidTagCount", "The specified tags are beyond the permitted range.")
	}
	return checkTagTexts(o.Tags("Tag"))
}

func checkTagTexts(tags map[string]string) *failure {
	for key, value := range tags {
		switch {
		case key == "" || len(key) > 128 || strings.HasPrefix(key, "aliyun") || strings.HasPrefix(key, "acs:") || strings.Contains(key, "http://") || strings.Contains(key, "https://"):
			return refuse("InvalidTagKey.Malformed", "The specified Tag.n.Key is not valid.")
		case len(value) > 128 || strings.Contains(value, "http://") || strings.Contains(value, "https://"):
			return refuse("InvalidTagValue.Malformed", "The specified Tag.n.Value is not valid.")
		}
	}
	return nil
}

func (c launcher) checkImage(o *order) *failure {
	id := o.Get("ImageId")
	known := slices.ContainsFunc(c.options.Inventory.Images, func(i Image) bool { return i.ID == id })
	switch {
	case id == "":
		return refuse("MissingParameter", "The input parameter ImageId that is mandatory for processing this request is not supplied.")
	case !known && !c.options.AcceptAny:
		return refuse("InvalidImageId.NotFound", "The specified ImageId does not exist.")
	}
	return nil
}

func (c launcher) checkType(o *order) *failure {
	t, ok := c.typeNamed(o.Get("InstanceType"))
	if !ok {
		return refuse("InvalidInstanceType.ValueNotSupported", "The specified InstanceType does not exist or beyond the permitted range.")
	}
	o.typ = t
	return nil
}

// typeNamed is a type. An unknown one is generated if the cloud accepts any.
func (c *store) typeNamed(name string) (Type, bool) {
	for _, t := range c.options.Inventory.Types {
		if t.Name == name {
			return t, true
		}
	}
	return Type{Name: name, VCPUs: 2, MemoryGiB: 8, Arch: "X86"}, c.options.AcceptAny && name != ""
}

func (c launcher) checkNetwork(o *order) *failure {
	id := o.Get("VSwitchId")
	v, ok := c.vSwitch(id, cmp.Or(o.zone, o.Get("RegionId")+"-a"))
	if !ok {
		return refuse("InvalidVSwitchId.NotFound", "The specified VSwitchId does not exist.")
	}
	o.vSwitch = v
	groups := o.List("SecurityGroupIds")
	if one := o.Get("SecurityGroupId"); one != "" {
		groups = append(groups, one)
	}
	if len(groups) == 0 {
		return refuse("MissingParameter", "The input parameter SecurityGroupId that is mandatory for processing this request is not supplied.")
	}
	for _, id := range groups {
		if !c.options.AcceptAny && !slices.ContainsFunc(c.options.Inventory.SecurityGroups, func(g SecurityGroup) bool { return g.ID == id }) {
			return refuse("InvalidSecurityGroupId.NotFound", "The specified SecurityGroupId does not exist.")
		}
	}
	return nil
}

// vSwitch is the vSwitch with an ID. A generated one is in the zone.
func (c *store) vSwitch(id, zone string) (VSwitch, bool) {
	for _, v := range c.options.Inventory.VSwitches {
		if v.ID == id {
			return v, true
		}
	}
	return VSwitch{ID: id, Network: "vpc-any", Zone: zone, CIDR: "10.128.0.0/16"}, c.options.AcceptAny && id != ""
}

func (c launcher) checkZone(o *order) *failure {
	known := slices.Contains(c.options.Inventory.Zones, o.zone) || c.options.AcceptAny
	switch {
	case o.zone == "":
		o.zone = o.vSwitch.Zone
	case !known:
		return refuse("InvalidZoneId.NotFound", "The specified ZoneId does not exist.")
	case o.zone != o.vSwitch.Zone:
		return refuse("InvalidVSwitchId.ZoneMismatch", "The specified VSwitchId is not in the specified zone.")
	}
	if len(o.typ.Zones) > 0 && !slices.Contains(o.typ.Zones, o.zone) {
		return refuse("InvalidInstanceType.ZoneNotSupported", "The specified zone does not support this instancetype.")
	}
	return nil
}

func (c launcher) checkResources(o *order) *failure {
	if c.options.AcceptAny {
		return nil
	}
	v := c.options.Inventory
	if key := o.Get("KeyPairName"); key != "" && !slices.Contains(v.KeyPairs, key) {
		return refuse("InvalidKeyPairName.NotFound", "The specified KeyPairName does not exist.")
	}
	if role := o.Get("RamRoleName"); role != "" && !slices.Contains(v.RAMRoles, role) {
		return refuse("InvalidRamRole.NotFound", "The specified RamRoleName does not exist.")
	}
	group := o.Get("ResourceGroupId")
	if group != "" && !slices.ContainsFunc(v.ResourceGroups, func(g ResourceGroup) bool { return g.ID == group }) {
		return refuse("InvalidResourceGroup.NotFound", "The ResourceGroup provided does not exist in our records.")
	}
	return nil
}

func checkDisks(o *order) *failure {
	if size := o.Get("SystemDisk.Size"); size != "" && o.Number("SystemDisk.Size") < 20 {
		return refuse("InvalidSystemDiskSize.ValueNotSupported", "The specified parameter SystemDisk.Size is invalid.")
	}
	disks := o.Each("DataDisk")
	if len(disks) > 16 {
		return refuse("InvalidDataDiskCount", "The maximum number of data disks is exceeded.")
	}
	for _, d := range disks {
		if d.Get("SnapshotId") == "" && d.Number("Size") < 20 {
			return refuse("InvalidDiskSize.ValueNotSupported", "The specified DataDisk.n.Size beyond the permitted range, or the capacity of snapshot exceeds the size limit of the specified disk category.")
		}
	}
	return nil
}

func checkTerms(o *order) *failure {
	if !slices.Contains([]string{"", "NoSpot", "SpotAsPriceGo", "SpotWithPriceLimit"}, o.Get("SpotStrategy")) {
		return refuse("InvalidSpotStrategy", "The specified SpotStrategy is not valid.")
	}
	if !slices.Contains([]string{"", "default", "host"}, o.Get("Tenancy")) {
		return refuse("InvalidTenancy.ValueNotSupported", "The specified Tenancy is not valid.")
	}
	return nil
}

// room refuses an order if capacity or quota is missing; the caller holds the lock.
func (c launcher) room(o order) *failure {
	counts, vcpus := map[string]int{}, int64(0)
	spot := strings.HasPrefix(o.Get("SpotStrategy"), "Spot")
	for _, i := range c.instances.All() {
		if c.state(i) == released {
			continue
		}
		if t, _ := c.typeNamed(i.Type); i.spot() == spot {
			vcpus += t.VCPUs
		}
		counts[i.Zone]++
		counts[i.Zone+"/"+i.Type]++
	}
	q := c.options.Inventory.Quotas
	most := q.VCPUs
	if spot {
		most = q.SpotVCPUs
	}
	if most > 0 && vcpus+o.typ.VCPUs > most {
		return refuse("QuotaExceed.ElasticQuota", "The number of the specified ECS instances has exceeded the quota of the specified instance type, which is %d vCPUs.", most)
	}
	if c.Full(counts, o.zone, o.zone+"/"+o.typ.Name) {
		return exhaustions["type"]
	}
	return nil
}

// launch creates the instance and its disks; the caller holds the lock.
func (c launcher) launch(o order) (instance, *failure) {
	now := c.clock.Now()
	i := instance{
		ID: newID("i"), Account: o.account, Region: o.Get("RegionId"), Zone: o.zone, Type: o.typ.Name, Request: o.Form, Tags: o.Tags("Tag"), Made: now.Truncate(time.Minute),
		Wish: "run", Since: now, VSwitch: o.vSwitch, Interface: newID("eni"),
	}
	address, no := c.address(o)
	if no != nil {
		return i, no
	}
	i.Address = address
	if o.Number("InternetMaxBandwidthOut") > 0 {
		i.Public = netip.AddrFrom4([4]byte{47, 96, byte(c.made >> 8), byte(c.made)}).String()
	}
	c.addDisk(i, "system", o.In("SystemDisk"))
	for _, d := range o.Each("DataDisk") {
		c.addDisk(i, "data", d)
	}
	c.instances.Put(i.ID, i)
	return i, nil
}

func (c launcher) addDisk(i instance, kind string, f form.Form) {
	d := disk{ID: newID("d"), Account: i.Account, Instance: i.ID, Kind: kind, Tags: i.Tags, Stays: f.Get("DeleteWithInstance") == "false"}
	c.disks.Put(d.ID, d)
}

// reserved is how many addresses at the begin of a vSwitch are not assigned.
const reserved = 2

// address is the requested address of an order, or the first free one of its vSwitch.
func (c launcher) address(o order) (string, *failure) {
	used := map[string]bool{}
	for _, i := range c.instances.All() {
		used[i.Address] = i.VSwitch.ID == o.vSwitch.ID && c.state(i) != released || used[i.Address]
	}
	if own := o.Get("PrivateIpAddress"); own != "" {
		if used[own] {
			return "", refuse("InvalidIPAddress.AlreadyUsed", "The specified IP address is already used by other resources.")
		}
		return own, nil
	}
	if address, ok := double.FreeAddress(o.vSwitch.CIDR, reserved, used); ok {
		return address, nil
	}
	return "", refuse("InvalidVSwitchId.IpNotEnough", "The specified VSwitch \"%s\" has not enough IpAddress.", o.vSwitch.ID)
}
