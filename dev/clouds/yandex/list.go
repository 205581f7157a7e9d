package yandex

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/vpc/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Get implements the service of instances.
func (s instanceService) Get(ctx context.Context, in *compute.GetInstanceRequest) (*compute.Instance, error) {
	lag := s.Lag()
	i, ok := s.instances.GetBehind(in.GetInstanceId(), lag)
	state := s.stateAt(i, s.clock.Now().Add(-lag))
	if !ok || state == deleted {
		return nil, status.Errorf(codes.NotFound, "Instance %s not found", in.GetInstanceId())
	}
	if err := s.inFolder(callOf(ctx), i.Request.GetFolderId()); err != nil {
		return nil, err
	}
	return i.shown(state), nil
}

// List implements the service of instances. A page token is the ID of the last instance of a page.
func (s instanceService) List(ctx context.Context, in *compute.ListInstancesRequest) (*compute.ListInstancesResponse, error) {
	if err := s.inFolder(callOf(ctx), in.GetFolderId()); err != nil {
		return nil, err
	}
	if in.GetFilter() != "" {
		return nil, invalid("filter", "This simulator has no filters")
	}
	most := s.options.PageSize
	if n := int(in.GetPageSize()); n > 0 {
		most = min(most, n)
	}
	lag, out := s.Lag(), &compute.ListInstancesResponse{}
	for _, i := range s.instances.AllBehind(lag) {
		state := s.stateAt(i, s.clock.Now().Add(-lag))
		if i.Request.GetFolderId() != in.GetFolderId() || i.ID <= in.GetPageToken() || state == deleted {
			continue
		}
		if len(out.Instances) == most {
			out.NextPageToken = out.Instances[most-1].GetId()
			break
		}
		out.Instances = append(out.Instances, i.shown(state))
	}
	return out, nil
}

// console is the output of an instance.
const console = "Booting Linux\nUbuntu 24.04\nlogin: "

// GetSerialPortOutput implements the service of instances.
func (s instanceService) GetSerialPortOutput(ctx context.Context, in *compute.GetInstanceSerialPortOutputRequest) (*compute.GetInstanceSerialPortOutputResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := s.theirs(callOf(ctx), in.GetInstanceId())
	if err != nil {
		return nil, err
	}
	out := &compute.GetInstanceSerialPortOutputResponse{}
	if s.state(i) == compute.Instance_RUNNING {
		out.Contents = console
	}
	return out, nil
}

// List implements the service of addresses: the reserved addresses of a folder.
func (s addressService) List(ctx context.Context, in *vpc.ListAddressesRequest) (*vpc.ListAddressesResponse, error) {
	if err := s.inFolder(callOf(ctx), in.GetFolderId()); err != nil {
		return nil, err
	}
	from, _ := strconv.Atoi(in.GetPageToken())
	used, out := s.usedPublic(), &vpc.ListAddressesResponse{}
	all := slices.DeleteFunc(slices.Clone(s.options.Inventory.Addresses), func(a Address) bool { return a.Folder != in.GetFolderId() })
	slices.SortFunc(all, func(a, b Address) int { return strings.Compare(a.ID, b.ID) })
	for n := from; n < len(all); n++ {
		if len(out.Addresses) == s.options.PageSize {
			out.NextPageToken = strconv.Itoa(n)
			break
		}
		a := all[n]
		out.Addresses = append(out.Addresses, &vpc.Address{
			Id: a.ID, FolderId: a.Folder, Reserved: true, Used: slices.Contains(used, a.Address), Type: vpc.Address_EXTERNAL, IpVersion: vpc.Address_IPV4,
			Address: &vpc.Address_ExternalIpv4Address{ExternalIpv4Address: &vpc.ExternalIpv4Address{Address: a.Address}},
		})
	}
	return out, nil
}
