package ecs

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/dev/clouds/form"
)

// pageOf cuts a listing into pages. A token is the number of entries before its page.
func pageOf[T any](c *Cloud, in *call, all []T) (page []T, next string) {
	size := int(in.Number("MaxResults"))
	if size < 10 { // ECS returns at least ten
		size = 10
	}
	size = min(size, c.options.PageSize)
	from := min(int(in.Number("NextToken")), len(all))
	to := min(from+size, len(all))
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next
}

func describeInstances(c *Cloud, in *call) (object, *failure) {
	var ids []string
	if text := in.Get("InstanceIds"); text != "" {
		if err := json.Unmarshal([]byte(text), &ids); err != nil || len(ids) > 100 {
			return nil, refuse("InvalidInstanceIds.Malformed", "The specified InstanceIds are not valid.")
		}
	}
	if no := in.regional(); no != nil {
		return nil, no
	}
	var all []instance
	for _, i := range c.instances.AllBehind(c.Lag()) {
		switch {
		case i.Account != in.account, i.Region != in.Get("RegionId"), c.state(i) == released, in.Get("InstanceIds") != "" && !slices.Contains(ids, i.ID),
			in.Get("InstanceName") != "" && !named(in.Get("InstanceName"), i.name()), in.Get("Status") != "" && in.Get("Status") != c.state(i), !matches(in.Form, i.Tags):
		default:
			all = append(all, i)
		}
	}
	if len(in.Each("Tag")) > 0 && len(all) > c.options.MostTagged {
		all = all[:c.options.MostTagged]
	}
	page, next := pageOf(c, in, all)
	list := make([]object, 0, len(page))
	for _, i := range page {
		list = append(list, c.shown(i))
	}
	return object{"Instances": object{"Instance": list}, "NextToken": next, "TotalCount": len(all), "PageNumber": 1, "PageSize": len(page)}, nil
}

// matches reports whether tags have all tags of a form; a tag without a value matches every value.
func matches(f form.Form, tags map[string]string) bool {
	for _, t := range f.Each("Tag") {
		value, has := tags[t.Get("Key")]
		if !has || t.Has("Value") && value != t.Get("Value") {
			return false
		}
	}
	return true
}

// regional refuses a request without a region.
func (c call) regional() *failure {
	if c.Get("RegionId") != "" {
		return nil
	}
	return refuse("MissingParameter", "The input parameter RegionId that is mandatory for processing this request is not supplied.")
}

// named reports whether a name matches a pattern, in which an asterisk stands for any text.
func named(pattern, name string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "?", `\?`), name)
	return ok && err == nil
}

// shown is an instance in the form of an answer.
func (c *store) shown(i instance) object {
	t, _ := c.typeNamed(i.Type)
	locks := []object{}
	if !i.Interrupted.IsZero() {
		locks = append(locks, object{"LockReason": "Recycling"})
	}
	public := []string{}
	if i.Public != "" {
		public = append(public, i.Public)
	}
	strategy := i.Request.Get("SpotStrategy")
	if strategy == "" {
		strategy = "NoSpot"
	}
	groups := i.Request.List("SecurityGroupIds")
	if one := i.Request.Get("SecurityGroupId"); one != "" {
		groups = append(groups, one)
	}
	return object{
		"InstanceId": i.ID, "InstanceName": i.name(), "HostName": i.hostName(), "Status": c.state(i), "RegionId": i.Region, "ZoneId": i.Zone,
		"InstanceType": i.Type, "ImageId": i.Request.Get("ImageId"), "CreationTime": i.Made.UTC().Format("2006-01-02T15:04Z"), "Cpu": t.VCPUs, "Memory": t.MemoryGiB * 1024,
		"SpotStrategy": strategy, "InstanceChargeType": "PostPaid", "InstanceNetworkType": "vpc", "DeletionProtection": false, "KeyPairName": i.Request.Get("KeyPairName"),
		"SecurityGroupIds": object{"SecurityGroupId": groups}, "Tags": object{"Tag": shownTags(i.Tags)}, "OperationLocks": object{"LockReason": locks},
		"PublicIpAddress": object{"IpAddress": public}, "EipAddress": object{"IpAddress": "", "AllocationId": ""}, "InnerIpAddress": object{"IpAddress": []string{}},
		"VpcAttributes": object{"VpcId": i.VSwitch.Network, "VSwitchId": i.VSwitch.ID, "NatIpAddress": "", "PrivateIpAddress": object{"IpAddress": []string{i.Address}}},
		"NetworkInterfaces": object{"NetworkInterface": []object{{
			"NetworkInterfaceId": i.Interface, "Type": "Primary", "PrimaryIpAddress": i.Address, "MacAddress": "00:16:3e:00:00:01",
			"PrivateIpSets": object{"PrivateIpSet": []object{{"PrivateIpAddress": i.Address, "Primary": true}}},
		}}},
	}
}

func shownTags(tags map[string]string) []object {
	list := make([]object, 0, len(tags))
	for key, value := range tags {
		list = append(list, object{"TagKey": key, "TagValue": value})
	}
	return list
}

func describeInstanceTypes(c *Cloud, in *call) (object, *failure) {
	names, list := in.List("InstanceTypes"), []object{}
	if len(names) > 10 {
		return nil, refuse("InvalidParameter.InstanceTypes", "The specified parameter InstanceTypes has too many values.")
	}
	all := slices.Clone(c.options.Inventory.Types)
	for _, name := range names {
		if t, ok := c.typeNamed(name); ok && !slices.ContainsFunc(all, func(t Type) bool { return t.Name == name }) {
			all = append(all, t)
		}
	}
	for _, t := range all {
		if len(names) == 0 || slices.Contains(names, t.Name) {
			list = append(list, object{
				"InstanceTypeId": t.Name, "CpuCoreCount": t.VCPUs, "MemorySize": t.MemoryGiB, "CpuArchitecture": t.Arch, "GPUAmount": t.GPUs, "GPUSpec": t.GPU,
				"InstanceTypeFamily": strings.TrimSuffix(t.Name, path.Ext(t.Name)),
			})
		}
	}
	return object{"InstanceTypes": object{"InstanceType": list}, "NextToken": ""}, nil
}

func describeSecurityGroups(c *Cloud, in *call) (object, *failure) {
	if no := in.regional(); no != nil {
		return nil, no
	}
	list := []object{}
	for _, g := range c.options.Inventory.SecurityGroups {
		if matches(in.Form, g.Tags) && (in.Get("VpcId") == "" || in.Get("VpcId") == g.Network) {
			list = append(list, object{"SecurityGroupId": g.ID, "VpcId": g.Network, "Tags": object{"Tag": shownTags(g.Tags)}})
		}
	}
	if len(list) == 0 && c.options.AcceptAny {
		list = append(list, object{"SecurityGroupId": "sg-bp1generated0000001", "VpcId": in.Get("VpcId")})
	}
	return object{"SecurityGroups": object{"SecurityGroup": list}, "RegionId": in.Get("RegionId"), "TotalCount": len(list), "NextToken": ""}, nil
}

func describeVSwitches(c *Cloud, in *call) (object, *failure) {
	if no := in.regional(); no != nil {
		return nil, no
	}
	list := []object{}
	for _, v := range c.options.Inventory.VSwitches {
		if matches(in.Form, v.Tags) && (in.Get("VpcId") == "" || in.Get("VpcId") == v.Network) {
			list = append(list, object{"VSwitchId": v.ID, "VpcId": v.Network, "ZoneId": v.Zone, "CidrBlock": v.CIDR, "Status": "Available"})
		}
	}
	if len(list) == 0 && c.options.AcceptAny {
		list = append(list, object{"VSwitchId": "vsw-bp1generated000001", "VpcId": in.Get("VpcId"), "ZoneId": in.Get("RegionId") + "-a", "CidrBlock": "10.128.0.0/16"})
	}
	return object{"VSwitches": object{"VSwitch": list}, "TotalCount": len(list), "PageNumber": 1, "PageSize": 50}, nil
}

func listResourceGroups(c *Cloud, in *call) (object, *failure) {
	if in.Number("PageSize") > 100 {
		return nil, refuse("InvalidParameter.PageSize", "The specified parameter PageSize is not valid.")
	}
	list := []object{}
	for _, g := range c.options.Inventory.ResourceGroups {
		if in.Get("Name") == "" || in.Get("Name") == g.Name {
			list = append(list, object{"Id": g.ID, "Name": g.Name, "DisplayName": g.Name, "Status": "OK", "AccountId": in.account})
		}
	}
	if len(list) == 0 && c.options.AcceptAny {
		list = append(list, object{"Id": "rg-generated00001", "Name": in.Get("Name")})
	}
	return object{"ResourceGroups": object{"ResourceGroup": list}, "TotalCount": len(list)}, nil
}

func getInstanceConsoleOutput(c *Cloud, in *call) (object, *failure) {
	i, no := c.theirs(in)
	if no != nil {
		return nil, no
	}
	text := ""
	if c.state(i) == running {
		text = fmt.Sprintf("[    0.000000] Linux version 5.10.134\n%s login: ", i.hostName())
	}
	return object{
		"InstanceId": i.ID, "ConsoleOutput": base64.StdEncoding.EncodeToString([]byte(text)), "LastUpdateTime": c.clock.Now().UTC().Format(time.RFC3339),
	}, nil
}
