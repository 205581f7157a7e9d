package gce

import "strings"

// permissions are the permissions that a request requires.
func permissions(q request) []string {
	switch q.method {
	case "instances.insert":
		return insertPermissions(q.body)
	case "operations.get", "operations.wait", "operations.list", "operations.aggregatedList":
		verb := strings.NewReplacer("aggregatedList", "list", "wait", "get").Replace(q.method[len("operations."):])
		if q.scope == "" {
			return []string{"compute.globalOperations." + verb}
		}
		return []string{"compute.zoneOperations." + verb}
	case "imageFamilyViews.get", "images.getFromFamily":
		return []string{"compute.images.getFromFamily"}
	case "targetPools.addInstance", "targetPools.removeInstance":
		return []string{"compute." + q.method, "compute.instances.use"}
	case "instanceGroups.addInstances", "instanceGroups.removeInstances":
		return []string{"compute.instanceGroups.update", "compute.instances.use"}
	case "instanceGroups.listInstances":
		return []string{"compute.instanceGroups.list"}
	case "backendServices.get":
		return []string{"compute.regionBackendServices.get"}
	case "backendServices.update", "backendServices.patch":
		return backendPermissions(q.body)
	}
	name := strings.NewReplacer("aggregatedList", "list", ".insert", ".create").Replace(q.method)
	return []string{"compute." + name}
}

// backendPermissions are the permissions to change a backend service and to use its groups.
func backendPermissions(body resource) []string {
	all := []string{"compute.regionBackendServices.update"}
	if len(body.parts("backends")) > 0 {
		all = append(all, "compute.instanceGroups.use")
	}
	return all
}

// bindTag is the permission on a tag value, which the owner of the value grants with the role
// roles/resourcemanager.tagUser.
const bindTag = "resourcemanager.tagValueBindings.create"

// insertPermissions are the permissions for all resources that a new instance uses.
func insertPermissions(body resource) []string {
	all := []string{"compute.instances.create"}
	also := func(is bool, permissions ...string) {
		if is {
			all = append(all, permissions...)
		}
	}
	also(body["labels"] != nil, "compute.instances.setLabels")
	also(len(body.part("tags").texts("items")) > 0, "compute.instances.setTags")
	also(len(body.part("metadata").parts("items")) > 0, "compute.instances.setMetadata")
	also(len(body.parts("serviceAccounts")) > 0, "compute.instances.setServiceAccount", "iam.serviceAccounts.actAs")
	also(body.yes("deletionProtection"), "compute.instances.setDeletionProtection")
	also(len(body.part("params").words("resourceManagerTags")) > 0, "compute.instances.createTagBinding", bindTag)
	for _, d := range body.parts("disks") {
		also(d["initializeParams"] != nil && d.text("type") != scratch, "compute.disks.create")
		also(d.part("initializeParams")["labels"] != nil, "compute.disks.setLabels")
		also(len(d.part("initializeParams").words("resourceManagerTags")) > 0, "compute.disks.createTagBinding", bindTag)
		also(d.part("initializeParams")["sourceImage"] != nil, "compute.images.useReadOnly")
	}
	for _, n := range body.parts("networkInterfaces") {
		also(true, "compute.subnetworks.use")
		also(len(n.parts("accessConfigs")) > 0, "compute.subnetworks.useExternalIp")
	}
	return all
}
