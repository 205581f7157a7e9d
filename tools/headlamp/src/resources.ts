// The kinds of both APIs, read by Headlamp's own connection to the cluster.

import { K8s } from '@kinvolk/headlamp-plugin/lib';
import { gardener, type Machine, openshift } from './facts';

const { KubeObject } = K8s.cluster;

export class OpenShiftMachine extends KubeObject<any> {
  static kind = 'Machine';
  static apiName = 'machines';
  static apiVersion = `${openshift}/v1beta1`;
  static isNamespaced = true;
  static get detailsRoute() {
    return openshift;
  }
}

export class GardenerMachine extends KubeObject<any> {
  static kind = 'Machine';
  static apiName = 'machines';
  static apiVersion = `${gardener}/v1alpha1`;
  static isNamespaced = true;
  static get detailsRoute() {
    return gardener;
  }
}

export const classes = { [openshift]: OpenShiftMachine, [gardener]: GardenerMachine };

export const machineOf = (o: { jsonData: unknown }): Machine => o.jsonData as Machine;
