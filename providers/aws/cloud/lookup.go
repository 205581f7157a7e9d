package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/millwright-dev/millwright/provider"
)

// lookup finds the objects that specs name: images, subnets, groups.
type lookup struct {
	*client
	ask   func(doing string, err error) error // classifies
	names map[field]string
	// stack has the IP protocols of the cluster.
	stack stack
	// placement is the placement in the machine's annotation; nil: none.
	placement *types.Placement
}

func (l lookup) missing(f field, format string, args ...any) error {
	return provider.InvalidField(l.names[f], format, args...)
}

// filters converts the spec's filters to AWS's type.
func filters[F any](all []F, of func(F) (name string, values []string)) (out []types.Filter) {
	for _, f := range all {
		name, values := of(f)
		out = append(out, types.Filter{Name: aws.String(name), Values: values})
	}
	return out
}

// keyOf identifies filters.
func keyOf(all []types.Filter) string {
	var out strings.Builder
	for _, f := range all {
		fmt.Fprintf(&out, "%q=%q;", deref(f.Name), f.Values)
	}
	return out.String()
}

// image is the one with the ID.
func (l lookup) image(ctx context.Context, id string) (types.Image, error) {
	return l.images.Get(ctx, id, func(ctx context.Context) (types.Image, error) {
		out, err := l.ec2.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{id}})
		if err != nil {
			return types.Image{}, l.ask("look for image "+id, err)
		}
		if len(out.Images) == 0 {
			return types.Image{}, l.missing(ofImage, "there is no image %s", id)
		}
		return out.Images[0], nil
	})
}

// newest is the last created image that passes the filters. Times of images compare as texts.
func (l lookup) newest(ctx context.Context, by []types.Filter) (types.Image, error) {
	return l.images.Get(ctx, keyOf(by), func(ctx context.Context) (types.Image, error) {
		var all []types.Image
		pages := ec2.NewDescribeImagesPaginator(l.ec2, &ec2.DescribeImagesInput{Filters: by})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				return types.Image{}, l.ask("look for images", err)
			}
			all = append(all, out.Images...)
		}
		if len(all) == 0 {
			return types.Image{}, l.missing(ofImage, "no image passes the filters")
		}
		return slices.MaxFunc(all, func(a, b types.Image) int { return strings.Compare(deref(a.CreationDate), deref(b.CreationDate)) }), nil
	})
}

func (l lookup) subnet(ctx context.Context, id string) (types.Subnet, error) {
	return l.subnets.Get(ctx, id, func(ctx context.Context) (types.Subnet, error) {
		out, err := l.ec2.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{SubnetIds: []string{id}})
		if err != nil {
			return types.Subnet{}, l.ask("look for subnet "+id, err)
		}
		if len(out.Subnets) == 0 {
			return types.Subnet{}, l.missing(ofSubnet, "there is no subnet %s", id)
		}
		return out.Subnets[0], nil
	})
}

// firstSubnet is the first by its ID of those that pass the filters, so that a repeated request is the same
// request. If no subnet matches, the field is at fault.
func (l lookup) firstSubnet(ctx context.Context, by []types.Filter, f field) (types.Subnet, error) {
	return l.subnets.Get(ctx, keyOf(by), func(ctx context.Context) (types.Subnet, error) {
		var all []types.Subnet
		pages := ec2.NewDescribeSubnetsPaginator(l.ec2, &ec2.DescribeSubnetsInput{Filters: by})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				return types.Subnet{}, l.ask("look for subnets", err)
			}
			all = append(all, out.Subnets...)
		}
		if len(all) == 0 {
			return types.Subnet{}, l.missing(f, "no subnet passes the filters %s", keyOf(by))
		}
		return slices.MinFunc(all, func(a, b types.Subnet) int { return strings.Compare(deref(a.SubnetId), deref(b.SubnetId)) }), nil
	})
}

// groupsBy are the IDs of the security groups that pass the filters, in order.
func (l lookup) groupsBy(ctx context.Context, by []types.Filter) ([]string, error) {
	return l.groups.Get(ctx, keyOf(by), func(ctx context.Context) (ids []string, err error) {
		pages := ec2.NewDescribeSecurityGroupsPaginator(l.ec2, &ec2.DescribeSecurityGroupsInput{Filters: by})
		for pages.HasMorePages() {
			out, err := pages.NextPage(ctx)
			if err != nil {
				return nil, l.ask("look for security groups", err)
			}
			for _, g := range out.SecurityGroups {
				ids = append(ids, deref(g.GroupId))
			}
		}
		slices.Sort(ids)
		return ids, nil
	})
}

// wavelength reports whether a zone is at the edge of a carrier's network, where public addresses are the carrier's.
func (l lookup) wavelength(ctx context.Context, zone string) (bool, error) {
	kind, err := l.zones.Get(ctx, zone, func(ctx context.Context) (string, error) {
		out, err := l.ec2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{ZoneNames: []string{zone}})
		if err != nil {
			return "", l.ask("look for zone "+zone, err)
		}
		if len(out.AvailabilityZones) == 0 {
			return "", l.missing(ofZone, "there is no zone %s", zone)
		}
		return deref(out.AvailabilityZones[0].ZoneType), nil
	})
	return kind == "wavelength-zone", err
}
