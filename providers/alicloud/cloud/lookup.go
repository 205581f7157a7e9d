package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	ecs "github.com/alibabacloud-go/ecs-20140526/v7/client"
	"github.com/alibabacloud-go/tea/dara"
	machinev1 "github.com/openshift/api/machine/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/alicloud/spec"
)

// lookup finds the resources that a spec names by tags or by name. Results are in a stable order: a
// repeated request has to be the same request.
type lookup struct {
	*client
	names map[field]string
}

// resolve returns the IDs for a key; an empty result is an error of the field.
func (l lookup) resolve(ctx context.Context, f field, key any, find func(context.Context) ([]string, error)) ([]string, error) {
	text, err := json.Marshal([]any{f, key})
	if err != nil {
		return nil, err
	}
	return l.resolved.Get(ctx, string(text), func(ctx context.Context) ([]string, error) {
		ids, err := find(ctx)
		if err == nil && len(ids) == 0 {
			err = provider.InvalidField(l.names[f], "nothing in region %s matches %v", l.region, key)
		}
		return ids, classify("look for "+l.names[f], err, l.names)
	})
}

// vSwitch is the ID of the vSwitch of a spec. Of several with the tags, one in the spec's zone is used.
func (l lookup) vSwitch(ctx context.Context, s *spec.Config) (string, error) {
	if s.VSwitch.Type == machinev1.AlibabaResourceReferenceTypeID {
		return *s.VSwitch.ID, nil
	}
	tags := tagsOf(*s.VSwitch.Tags)
	ids, err := l.resolve(ctx, ofVSwitch, []any{s.VpcID, s.ZoneID, tags}, func(ctx context.Context) ([]string, error) {
		parameters := map[string]string{"RegionId": l.region, "PageSize": "50"}
		if s.VpcID != "" {
			parameters["VpcId"] = s.VpcID
		}
		for n, key := range slices.Sorted(maps.Keys(tags)) {
			at := "Tag." + strconv.Itoa(n+1) + "."
			parameters[at+"Key"], parameters[at+"Value"] = key, tags[key]
		}
		var found struct {
			VSwitches struct{ VSwitch []vSwitch }
		}
		err := l.ask(ctx, vpc, "DescribeVSwitches", parameters, &found)
		return inOrder(found.VSwitches.VSwitch, s.ZoneID), err
	})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// vSwitch is a vSwitch in an answer.
type vSwitch struct {
	ID   string `json:"VSwitchId"`
	Zone string `json:"ZoneId"`
}

// inOrder are the IDs of vSwitches: those in the zone first.
func inOrder(all []vSwitch, zone string) (ids []string) {
	slices.SortFunc(all, func(a, b vSwitch) int {
		if here, there := a.Zone == zone, b.Zone == zone; here != there {
			if here {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	for _, v := range all {
		ids = append(ids, v.ID)
	}
	return ids
}

// securityGroups are the IDs of the security groups of a spec; a reference by tags names all that have them.
func (l lookup) securityGroups(ctx context.Context, s *spec.Config, resourceGroup string) (all []string, err error) {
	for _, r := range s.SecurityGroups {
		if r.Type == machinev1.AlibabaResourceReferenceTypeID {
			all = append(all, *r.ID)
			continue
		}
		tags := tagsOf(*r.Tags)
		ids, err := l.resolve(ctx, ofGroups, []any{s.VpcID, resourceGroup, tags}, func(ctx context.Context) ([]string, error) {
			return l.groupsWith(ctx, s.VpcID, resourceGroup, tags)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (l lookup) groupsWith(ctx context.Context, network, resourceGroup string, tags map[string]string) (ids []string, err error) {
	in := &ecs.DescribeSecurityGroupsRequest{RegionId: &l.region, VpcId: text(network), ResourceGroupId: text(resourceGroup), MaxResults: dara.Int32(mostOnPage)}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		in.Tag = append(in.Tag, &ecs.DescribeSecurityGroupsRequestTag{Key: &key, Value: dara.String(tags[key])})
	}
	out, err := call(ctx, l.client, (*ecs.Client).DescribeSecurityGroupsWithContext, in)
	if err != nil {
		return nil, err
	}
	if out.Body == nil || out.Body.SecurityGroups == nil {
		return nil, errNoList
	}
	for _, g := range out.Body.SecurityGroups.SecurityGroup {
		ids = append(ids, deref(g.SecurityGroupId))
	}
	return ids, nil
}

// resourceGroup is a resource group in an answer.
type resourceGroup struct {
	ID string `json:"Id"`
}

// resourceGroup is the ID of the resource group of a spec; empty for the account's default.
func (l lookup) resourceGroup(ctx context.Context, r spec.Reference) (string, error) {
	switch r.Type {
	case machinev1.AlibabaResourceReferenceTypeID:
		return *r.ID, nil
	case machinev1.AlibabaResourceReferenceTypeName:
	default:
		return "", nil
	}
	ids, err := l.resolve(ctx, ofResourceGroup, *r.Name, func(ctx context.Context) (ids []string, err error) {
		var found struct {
			ResourceGroups struct{ ResourceGroup []resourceGroup }
		}
		err = l.ask(ctx, rm, "ListResourceGroups", map[string]string{"Name": *r.Name, "RegionId": l.region}, &found)
		for _, g := range found.ResourceGroups.ResourceGroup {
			ids = append(ids, g.ID)
		}
		return ids, err
	})
	if err != nil {
		return "", err
	}
	return ids[0], nil
}
