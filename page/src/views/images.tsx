/** Pictures of a message: those of a tool's result are read from the server, others are shown if this page sent them,
    else named with their size. */

import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ask } from "../state/conversation.ts";
import { picturesSent } from "../state/pictures.ts";
import type { ImageBlock } from "../wire.ts";

const KINDS = /^image\/(png|jpeg|gif|webp)$/;

export function Images({ images, tool }: { images: readonly ImageBlock[]; tool?: string }): VNode | null {
  if (!images.length) return null;
  return (
    <div class="pictures">
      {images.map((image, index) => (
        <Image image={image} tool={tool} index={index} />
      ))}
    </div>
  );
}

interface ImageProps {
  image: ImageBlock;
  tool: string | undefined;
  index: number;
}

function Image({ image, tool, index }: ImageProps): VNode {
  const [isLarge, setLarge] = useState(false);
  const [read, setRead] = useState<ImageBlock | null>(null);
  const source = sourceOf(read ?? image);
  useEffect(() => {
    if (source || !tool) return;
    ask<{ mime_type: string; data: string }>("get_image", { tool_id: tool, index }).then(
      (found) => setRead({ ...image, ...found }),
      () => undefined, // its name stays
    );
  }, [tool, index]);
  const label = `${image.mime_type}, ${size(image.bytes)}`;
  if (!source) return <span class="picture-name">{`picture: ${label}`}</span>;
  return (
    <button type="button" class={isLarge ? "picture large" : "picture"} aria-expanded={isLarge} onClick={() => setLarge(!isLarge)}>
      <img src={source} alt={`picture, ${label}`} />
    </button>
  );
}

function sourceOf(image: ImageBlock): string {
  if (image.data && KINDS.test(image.mime_type) && /^[A-Za-z0-9+/=]+$/.test(image.data)) {
    return `data:${image.mime_type};base64,${image.data}`;
  }
  return picturesSent.get(`${image.mime_type} ${image.bytes}`) ?? "";
}

export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(0)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
