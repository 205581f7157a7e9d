package yandex

import (
	"context"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/yandex-cloud/go-genproto/yandex/cloud/compute/v1"
	"github.com/yandex-cloud/go-genproto/yandex/cloud/operation"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/millwright-dev/millwright/dev/clouds/double"
)

// The limits of Compute Cloud.
const (
	mostLabels   = 64
	mostMetadata = 512 << 10 // bytes
	mostValue    = 256 << 10 // bytes
)

// Create implements the service of instances.
func (s instanceService) Create(ctx context.Context, request *compute.CreateInstanceRequest) (*operation.Operation, error) {
	in := callOf(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if op, done, err := s.repeated(in); done {
		return op, err
	}
	l := launcher{s.store}
	for _, check := range []func(call, *compute.CreateInstanceRequest) error{
		l.checkFolder, checkTexts, l.checkPlace, l.checkDisk, l.checkInterfaces, l.checkName, l.checkQuotas, l.checkCapacity,
	} {
		if err := check(in, request); err != nil {
			return nil, err
		}
	}
	i, err := l.launch(request)
	if err != nil {
		return nil, err
	}
	o := s.begin(in, i, "Create instance", s.options.Boot, &compute.CreateInstanceMetadata{InstanceId: i.ID})
	s.instances.Change(i.ID, func(i *instance) { i.Creation = o.id })
	return s.shownOperation(o)
}

// launcher creates instances.
type launcher struct{ *store }

func (l launcher) checkFolder(in call, request *compute.CreateInstanceRequest) error {
	if err := l.inFolder(in, request.GetFolderId()); err != nil {
		return err
	}
	for _, n := range request.GetNetworkInterfaceSpecs() {
		if n.GetPrimaryV4AddressSpec().GetOneToOneNatSpec() != nil && !in.caller.has(publicAddresses) {
			return denied()
		}
	}
	if !in.caller.has(useOfNetworks) {
		return denied()
	}
	return l.progress(request.GetFolderId())
}

var (
	nameForm   = regexp.MustCompile(`^[a-z]([-_a-z0-9]{0,61}[a-z0-9])?$`)
	labelKey   = regexp.MustCompile(`^[a-z][-_./\\@0-9a-z]{0,62}$`)
	labelValue = regexp.MustCompile(`^[-_./\\@0-9a-z]{0,63}$`)
)

func checkTexts(_ call, request *compute.CreateInstanceRequest) error {
	for _, name := range []struct{ field, value string }{{"name", request.GetName()}, {"hostname", request.GetHostname()}} {
		if name.value != "" && !nameForm.MatchString(name.value) {
			return invalid(name.field, "Field does not match the pattern /|[a-z]([-_a-z0-9]{0,61}[a-z0-9])?/")
		}
	}
	if err := checkLabels(request.GetLabels()); err != nil {
		return err
	}
	size := 0
	for key, value := range request.GetMetadata() {
		size += len(key) + len(value)
		if len(value) > mostValue {
			return invalid("metadata", "Value is too long")
		}
	}
	if size > mostMetadata {
		return invalid("metadata", "Metadata is too large")
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	if len(labels) > mostLabels {
		return invalid("labels", "Number of elements must be less than or equal to 64")
	}
	for key, value := range labels {
		if !labelKey.MatchString(key) || !labelValue.MatchString(value) {
			return invalid("labels", "Label does not match the pattern")
		}
	}
	return nil
}

func (l launcher) checkPlace(_ call, request *compute.CreateInstanceRequest) error {
	p, ok := l.platform(request.GetPlatformId())
	r := request.GetResourcesSpec()
	switch {
	case request.GetZoneId() == "":
		return invalid("zone_id", "Field is required")
	case !slices.Contains(l.options.Inventory.Zones, request.GetZoneId()) && !l.options.AcceptAny:
		return status.Errorf(codes.NotFound, "Zone %s not found", request.GetZoneId())
	case !ok:
		return invalid("platform_id", "Platform \"%s\" not found", request.GetPlatformId())
	case len(p.Zones) > 0 && !slices.Contains(p.Zones, request.GetZoneId()):
		return invalid("platform_id", "Platform \"%s\" is not available in zone %s", p.ID, request.GetZoneId())
	case r.GetCores() <= 0 || r.GetCores()%2 != 0:
		return invalid("resources_spec.cores", "the specified number of cores is not available on platform \"%s\"", p.ID)
	case r.GetMemory() < gib || r.GetMemory()%(gib/2) != 0:
		return invalid("resources_spec.memory", "the specified amount of memory is not available on platform \"%s\"", p.ID)
	case !slices.Contains([]int64{0, 5, 20, 50, 100}, r.GetCoreFraction()):
		return invalid("resources_spec.core_fraction", "the specified core fraction is not available on platform \"%s\"", p.ID)
	case r.GetGpus() > 0 && !slices.Contains(p.GPUs, r.GetGpus()):
		return invalid("resources_spec.gpus", "the specified number of GPUs is not available on platform \"%s\"", p.ID)
	}
	return nil
}

// platform is a platform. An unknown one is generated if the cloud accepts any.
func (l launcher) platform(id string) (Platform, bool) {
	for _, p := range l.options.Inventory.Platforms {
		if p.ID == id {
			return p, true
		}
	}
	return Platform{ID: id, GPUs: []int64{1, 2, 4, 8}}, l.options.AcceptAny && id != ""
}

func (l launcher) checkDisk(_ call, request *compute.CreateInstanceRequest) error {
	d := request.GetBootDiskSpec().GetDiskSpec()
	image, ok := l.image(d.GetImageId())
	switch {
	case d == nil || d.GetImageId() == "":
		return invalid("boot_disk_spec", "Field is required")
	case !ok:
		return status.Errorf(codes.NotFound, "Image %s not found", d.GetImageId())
	case d.GetTypeId() != "" && !slices.Contains(l.options.Inventory.DiskTypes, d.GetTypeId()) && !l.options.AcceptAny:
		return invalid("boot_disk_spec.disk_spec.type_id", "Disk type \"%s\" not found", d.GetTypeId())
	case d.GetSize() != 0 && d.GetSize() < image.MinDisk:
		return invalid("boot_disk_spec.disk_spec.size", "Requested disk size is smaller than the minimum disk size of the image")
	}
	return nil
}

func (l launcher) image(id string) (Image, bool) {
	for _, i := range l.options.Inventory.Images {
		if i.ID == id {
			return i, true
		}
	}
	return Image{ID: id}, l.options.AcceptAny && id != ""
}

func (l launcher) checkInterfaces(_ call, request *compute.CreateInstanceRequest) error {
	if len(request.GetNetworkInterfaceSpecs()) == 0 {
		return invalid("network_interface_specs", "Field is required")
	}
	for _, n := range request.GetNetworkInterfaceSpecs() {
		subnet, ok := l.subnet(n.GetSubnetId(), request.GetZoneId())
		switch {
		case !ok:
			return status.Errorf(codes.NotFound, "Subnet %s not found", n.GetSubnetId())
		case subnet.Zone != request.GetZoneId():
			return invalid("network_interface_specs", "Subnet %s is not in zone %s", subnet.ID, request.GetZoneId())
		}
		public := n.GetPrimaryV4AddressSpec().GetOneToOneNatSpec().GetAddress()
		if public != "" && slices.Contains(l.usedPublic(), public) {
			return status.Errorf(codes.FailedPrecondition, "Address %s is already in use", public)
		}
	}
	return nil
}

// subnet is a subnet. A generated one is in the zone.
func (l launcher) subnet(id, zone string) (Subnet, bool) {
	for _, n := range l.options.Inventory.Subnets {
		if n.ID == id {
			return n, true
		}
	}
	return Subnet{ID: id, Zone: zone, CIDR: "10.200.0.0/16"}, l.options.AcceptAny && id != ""
}

func (s *store) usedPublic() (all []string) {
	for _, i := range s.instances.All() {
		if i.Public != "" && s.state(i) != deleted {
			all = append(all, i.Public)
		}
	}
	return all
}

// checkName refuses a second instance of a name in a folder.
func (l launcher) checkName(_ call, request *compute.CreateInstanceRequest) error {
	for _, i := range l.instances.All() {
		if i.name() == request.GetName() && i.name() != "" && i.Request.GetFolderId() == request.GetFolderId() && l.state(i) != deleted {
			return status.Errorf(codes.AlreadyExists, "Instance with name %s already exists", request.GetName())
		}
	}
	return nil
}

func (l launcher) checkQuotas(_ call, request *compute.CreateInstanceRequest) error {
	q, n, cores := l.options.Inventory.Quotas, 0, int64(0)
	for _, i := range l.instances.All() {
		if l.state(i) != deleted {
			n++
			cores += i.Request.GetResourcesSpec().GetCores()
		}
	}
	switch {
	case q.Instances > 0 && n >= q.Instances:
		return status.Error(codes.ResourceExhausted, "The limit on maximum number of instances has exceeded.")
	case q.Cores > 0 && cores+request.GetResourcesSpec().GetCores() > q.Cores:
		return status.Error(codes.ResourceExhausted, "The limit on maximum number of cores has exceeded.")
	}
	return nil
}

func (l launcher) checkCapacity(_ call, request *compute.CreateInstanceRequest) error {
	zone, place := request.GetZoneId(), request.GetZoneId()+"/"+request.GetPlatformId()
	counts := map[string]int{}
	for _, i := range l.instances.All() {
		if l.state(i) != deleted {
			counts[i.zone()]++
			counts[i.zone()+"/"+i.Request.GetPlatformId()]++
		}
	}
	if l.Full(counts, zone, place) {
		return noCapacity()
	}
	return nil
}

// launch creates the instance and its disk; the caller holds the lock.
func (l launcher) launch(request *compute.CreateInstanceRequest) (instance, error) {
	now := l.clock.Now()
	i := instance{ID: newID("fhm"), Request: request, Labels: maps.Clone(request.GetLabels()), Made: now, Wish: wishRun, Since: now, Disk: newID("fhm")}
	first := request.GetNetworkInterfaceSpecs()[0]
	subnet, _ := l.subnet(first.GetSubnetId(), request.GetZoneId())
	var err error
	if i.Address, err = l.address(subnet); err != nil {
		return i, err
	}
	if nat := first.GetPrimaryV4AddressSpec().GetOneToOneNatSpec(); nat != nil {
		i.Public = nat.GetAddress()
		if i.Public == "" {
			i.Public = netip.AddrFrom4([4]byte{51, 250, byte(l.made >> 8), byte(l.made)}).String()
		}
	}
	l.disks.Put(i.Disk, disk{ID: i.Disk, Folder: request.GetFolderId(), Instance: i.ID, Stays: !request.GetBootDiskSpec().GetAutoDelete()})
	l.instances.Put(i.ID, i)
	return i, nil
}

// reserved is how many addresses at the begin of a subnet are not assigned.
const reserved = 3

// address is the first free address of a subnet.
func (l launcher) address(subnet Subnet) (string, error) {
	used := map[string]bool{}
	for _, i := range l.instances.All() {
		used[i.Address] = used[i.Address] || l.state(i) != deleted
	}
	if address, ok := double.FreeAddress(subnet.CIDR, reserved, used); ok {
		return address, nil
	}
	return "", status.Errorf(codes.FailedPrecondition, "Not enough resources: subnet %s has no free addresses", strings.TrimSpace(subnet.ID))
}
